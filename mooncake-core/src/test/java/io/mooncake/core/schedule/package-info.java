/** Tests of the decisions and of what they go by. */
@NullMarked
package io.mooncake.core.schedule;

import org.jspecify.annotations.NullMarked;
