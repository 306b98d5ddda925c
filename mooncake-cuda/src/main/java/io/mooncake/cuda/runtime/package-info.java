/**
 * The CUDA runtime as Java objects, and below them the one interface that tests put themselves behind.
 *
 * <pre>
 *   Device ──▶ Stream ──copy, fill──▶ Event ──poll──▶ done
 *      ├─────▶ DeviceMemory        (an address, which the host can't read)
 *      └─────▶ PinnedMemory        (host memory that devices copy from and to by themselves)
 *   ──────────────────────────────────────────────────────────────────────────────────────
 *   CudaRuntime:  NativeRuntime (the library)   |   one that fails where a test says, around it
 * </pre>
 *
 * Whoever makes an object closes it; nothing is closed by itself. A call that fails is a {@link io.mooncake.cuda.runtime.CudaException}; one
 * whose error means that the device's context is gone makes the {@link io.mooncake.cuda.runtime.Device} lost: from then on every use of it fails
 * at once, without a call.
 */
@NullMarked
package io.mooncake.cuda.runtime;

import org.jspecify.annotations.NullMarked;
