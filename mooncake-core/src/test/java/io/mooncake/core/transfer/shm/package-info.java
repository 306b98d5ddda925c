/** Tests of the shared memory's files: made by hand, and looked at by hand. */
@NullMarked
package io.mooncake.core.transfer.shm;

import org.jspecify.annotations.NullMarked;
