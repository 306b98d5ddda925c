package io.mooncake.core.base;

/**
 * A device's queue of work, opaque to core: a CUDA stream's handle, for example. A tier without streams refuses one.
 *
 * @param handle the driver's handle
 */
public record Stream(long handle) {}
