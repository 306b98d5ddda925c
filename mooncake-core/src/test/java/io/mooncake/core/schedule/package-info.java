/** Tests. */
@NullMarked
package io.mooncake.core.schedule;

import org.jspecify.annotations.NullMarked;
