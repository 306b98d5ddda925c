/** Tests of the policies, without a store. */
@NullMarked
package io.mooncake.core.manager.eviction;

import org.jspecify.annotations.NullMarked;
