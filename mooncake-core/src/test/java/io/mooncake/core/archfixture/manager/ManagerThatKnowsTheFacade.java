package io.mooncake.core.archfixture.manager;

import io.mooncake.core.archfixture.FacadeThatShowsAgrona;
import org.jspecify.annotations.NullMarked;

/** Breaks: nothing knows the facade. */
@NullMarked
record ManagerThatKnowsTheFacade(FacadeThatShowsAgrona facade) {}
