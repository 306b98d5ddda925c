/** What the tests of every module share: the house's rules, a C compiler, a JVM of its own. Never published. */
@NullMarked
package io.mooncake.testing;

import org.jspecify.annotations.NullMarked;
