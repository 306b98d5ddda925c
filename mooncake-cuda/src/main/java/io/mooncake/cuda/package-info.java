/**
 * GPUs for Mooncake: device memory as a pool of blocks, and the engine that copies between it, host memory and other devices.
 *
 * <pre>
 *   Cuda (is there a GPU?) ──▶ CudaDevices ──┬─▶ VramPool              one reservation a device, slots, guards in pinned host memory
 *                                            ├─▶ CudaTransferEngine    one a device: chunks in its own streams, polled by one agent
 *                                            ├─▶ pinned memory         a host pool that devices copy from and to by themselves
 *                                            └─▶ PeerLink              how each device reaches each other one, measured
 * </pre>
 */
@NullMarked
package io.mooncake.cuda;

import org.jspecify.annotations.NullMarked;
