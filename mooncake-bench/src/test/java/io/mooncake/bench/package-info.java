/** The bench's own tests, and those that need every module on one class path or a JVM of their own. */
@NullMarked
package io.mooncake.bench;

import org.jspecify.annotations.NullMarked;
