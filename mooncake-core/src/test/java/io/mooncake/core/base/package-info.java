/** Tests of what everybody may know. */
@NullMarked
package io.mooncake.core.base;

import org.jspecify.annotations.NullMarked;
