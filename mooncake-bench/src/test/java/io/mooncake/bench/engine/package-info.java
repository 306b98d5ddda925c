@NullMarked
package io.mooncake.bench.engine;

import org.jspecify.annotations.NullMarked;
