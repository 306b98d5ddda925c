/** RDMA for Mooncake: whether this machine can do it. */
@NullMarked
package io.mooncake.rdma;

import org.jspecify.annotations.NullMarked;
