/** libibverbs as Java objects. */
@NullMarked
package io.mooncake.rdma.verbs;

import org.jspecify.annotations.NullMarked;
