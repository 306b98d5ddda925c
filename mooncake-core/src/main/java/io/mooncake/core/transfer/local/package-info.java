/** The engine that copies blocks of this node into memory of this node. */
@NullMarked
package io.mooncake.core.transfer.local;

import org.jspecify.annotations.NullMarked;
