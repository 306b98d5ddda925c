/** Tests. */
@NullMarked
package io.mooncake.core.manager;

import org.jspecify.annotations.NullMarked;
