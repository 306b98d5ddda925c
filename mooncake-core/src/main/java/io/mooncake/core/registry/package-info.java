/** The cluster as one node sees it: who is there and who holds which block. */
@NullMarked
package io.mooncake.core.registry;

import org.jspecify.annotations.NullMarked;
