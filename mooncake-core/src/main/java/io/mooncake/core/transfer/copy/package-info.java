/** What engines have in common that move bytes with this process's own processor: the queue, the turns, the checks between chunks. */
@NullMarked
package io.mooncake.core.transfer.copy;

import org.jspecify.annotations.NullMarked;
