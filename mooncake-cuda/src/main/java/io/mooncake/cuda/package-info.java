/** GPUs for Mooncake: whether this machine has a usable one. */
@NullMarked
package io.mooncake.cuda;

import org.jspecify.annotations.NullMarked;
