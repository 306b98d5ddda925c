/** The facade: a node, its store of blocks, and what they return. */
@NullMarked
package io.mooncake.core;

import org.jspecify.annotations.NullMarked;
