/** Tests. */
@NullMarked
package io.mooncake.core.block;

import org.jspecify.annotations.NullMarked;
