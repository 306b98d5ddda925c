/** Tests. */
@NullMarked
package io.mooncake.bench.stress;

import org.jspecify.annotations.NullMarked;
