/** Tests of the TCP engine: pollers driven by hand, a manual clock, and a peer that speaks frames made by hand. */
@NullMarked
package io.mooncake.core.transfer.tcp;

import org.jspecify.annotations.NullMarked;
