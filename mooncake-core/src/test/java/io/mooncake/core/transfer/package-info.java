/** Tests of transfers and of the engines' contract. */
@NullMarked
package io.mooncake.core.transfer;

import org.jspecify.annotations.NullMarked;
