package io.mooncake.core.archfixture;

import java.util.List;
import org.agrona.concurrent.NanoClock;
import org.jspecify.annotations.NullMarked;

/** Breaks: no third-party type in an exported signature, be it inside a type argument. */
@NullMarked
public interface FacadeThatShowsAgrona {

    /**
     * The offence.
     *
     * @return nothing of use
     */
    List<? extends NanoClock> clock();
}
