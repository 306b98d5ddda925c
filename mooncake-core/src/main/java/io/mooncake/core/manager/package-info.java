/** This node's authority over its blocks: the table, control words, pins, holds, eviction. */
@NullMarked
package io.mooncake.core.manager;

import org.jspecify.annotations.NullMarked;
