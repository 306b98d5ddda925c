/** Tests. */
@NullMarked
package io.mooncake.core.pool;

import org.jspecify.annotations.NullMarked;
