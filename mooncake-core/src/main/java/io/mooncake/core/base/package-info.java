/**
 * What every package may know: who a node is, how memory is described, sizes, errors and counter names.
 *
 * <p>Nothing here holds a resource or starts a thread.
 */
@NullMarked
package io.mooncake.core.base;

import org.jspecify.annotations.NullMarked;
