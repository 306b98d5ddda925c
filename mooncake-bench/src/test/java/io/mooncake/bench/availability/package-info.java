/** What a fresh JVM says about the native libraries: it takes forks, and the class path of all modules. */
@NullMarked
package io.mooncake.bench.availability;

import org.jspecify.annotations.NullMarked;
