/** Tests of what copying engines share: driven by hand, with a manual clock. */
@NullMarked
package io.mooncake.core.transfer.copy;

import org.jspecify.annotations.NullMarked;
