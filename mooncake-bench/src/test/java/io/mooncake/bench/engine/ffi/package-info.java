@NullMarked
package io.mooncake.bench.engine.ffi;

import org.jspecify.annotations.NullMarked;
