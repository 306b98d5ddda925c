/** Tests of the engine that copies. */
@NullMarked
package io.mooncake.core.transfer.local;

import org.jspecify.annotations.NullMarked;
