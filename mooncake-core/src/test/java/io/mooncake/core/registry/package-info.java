/** Tests. */
@NullMarked
package io.mooncake.core.registry;

import org.jspecify.annotations.NullMarked;
