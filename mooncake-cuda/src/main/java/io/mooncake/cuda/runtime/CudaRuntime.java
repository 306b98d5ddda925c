package io.mooncake.cuda.runtime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * What the CUDA runtime offers, flat: the one seam below the facade, so that tests put failures in between. Handles and addresses of devices
 * are {@code long}s.
 *
 * <p>Every call answers with 0 or more, or with the negated error code. As safe for threads as the runtime: any thread, and most calls are about
 * the device that the calling thread has chosen with {@link #setDevice}.
 */
public interface CudaRuntime {

    /**
     * {@code cudaGetDeviceCount}.
     *
     * @return devices
     */
    int deviceCount();

    /**
     * {@code cudaGetDevice}.
     *
     * @return the thread's device
     */
    int currentDevice();

    /**
     * {@code cudaSetDevice}.
     *
     * @param device the thread's device from now on
     * @return 0
     */
    int setDevice(int device);

    /**
     * {@code cudaDeviceGetAttribute}.
     *
     * @param attribute the runtime's number of it
     * @param device of which
     * @return the value
     */
    int attribute(int attribute, int device);

    /**
     * {@code cudaDeviceGetPCIBusId}.
     *
     * @param device of which
     * @return for example {@code 0000:65:00.0}; empty when the runtime does not say
     */
    String pciBusId(int device);

    /**
     * {@code cudaMemGetInfo}.
     *
     * @return bytes that are free on the thread's device
     */
    long freeBytes();

    /**
     * {@code cudaMemGetInfo}.
     *
     * @return bytes that the thread's device has
     */
    long totalBytes();

    /**
     * {@code cudaDeviceCanAccessPeer}.
     *
     * @param device who reads and writes
     * @param peer whose memory
     * @return 1 or 0
     */
    int canAccessPeer(int device, int peer);

    /**
     * {@code cudaDeviceEnablePeerAccess} for the thread's device.
     *
     * @param peer whose memory
     * @return 0
     */
    int enablePeer(int peer);

    /**
     * {@code cudaMalloc} on the thread's device.
     *
     * @param bytes how many
     * @return the address
     */
    long malloc(long bytes);

    /**
     * {@code cudaFree}.
     *
     * @param address from {@link #malloc}
     * @return 0
     */
    int free(long address);

    /**
     * {@code cudaHostAlloc}, portable.
     *
     * @param bytes how many
     * @return the address
     */
    long hostAlloc(long bytes);

    /**
     * {@code cudaFreeHost}.
     *
     * @param address from {@link #hostAlloc}
     * @return 0
     */
    int freeHost(long address);

    /**
     * Memory of {@link #hostAlloc} as a segment, which is given back when the arena closes.
     *
     * @param address of the memory
     * @param bytes how many
     * @param arena the segment's life
     * @param giveBack run then
     * @return the segment
     */
    MemorySegment hostMemory(long address, long bytes, Arena arena, Runnable giveBack);

    /**
     * {@code cudaHostRegister}, portable. Slow: it pins every page.
     *
     * @param address of host memory
     * @param bytes how many
     * @return 0
     */
    int hostRegister(long address, long bytes);

    /**
     * {@code cudaHostUnregister}.
     *
     * @param address as registered
     * @return 0
     */
    int hostUnregister(long address);

    /**
     * {@code cudaMemcpyAsync} in the direction that the addresses say.
     *
     * @param to where to
     * @param from where from
     * @param bytes how many
     * @param stream in whose order
     * @return 0
     */
    int copy(long to, long from, long bytes, long stream);

    /**
     * {@code cudaMemcpy2DAsync} in the direction that the addresses say; one side's rows follow each other without a gap.
     *
     * @param rows what
     * @param stream in whose order
     * @return 0
     */
    int copyRows(Rows rows, long stream);

    /**
     * {@code cudaMemsetAsync}.
     *
     * @param to device memory
     * @param value of each byte
     * @param bytes how many
     * @param stream in whose order
     * @return 0
     */
    int fill(long to, int value, long bytes, long stream);

    /**
     * {@code cudaStreamCreateWithPriority}, never blocking the default stream.
     *
     * @param priority lower numbers go first; 0 = the least urgent
     * @return the stream
     */
    long createStream(int priority);

    /**
     * {@code cudaStreamDestroy}.
     *
     * @param stream which
     * @return 0
     */
    int destroyStream(long stream);

    /**
     * {@code cudaStreamSynchronize}: blocks.
     *
     * @param stream which
     * @return 0
     */
    int synchronize(long stream);

    /**
     * {@code cudaStreamWaitEvent}.
     *
     * @param stream which waits
     * @param event for what; recorded before
     * @return 0
     */
    int waitFor(long stream, long event);

    /**
     * {@code cudaEventCreateWithFlags}.
     *
     * @param timing whether it tells times
     * @return the event
     */
    long createEvent(boolean timing);

    /**
     * {@code cudaEventDestroy}.
     *
     * @param event which
     * @return 0
     */
    int destroyEvent(long event);

    /**
     * {@code cudaEventRecord}.
     *
     * @param event which
     * @param stream where
     * @return 0
     */
    int record(long event, long stream);

    /**
     * {@code cudaEventQuery}.
     *
     * @param event which
     * @return 0; -600 = not yet
     */
    int query(long event);

    /**
     * {@code cudaEventElapsedTime}.
     *
     * @param first recorded and passed, with timing
     * @param last the same
     * @return nanoseconds between them
     */
    long elapsedNs(long first, long last);

    /**
     * {@code cudaIpcGetMemHandle}: of the whole allocation that an address is in.
     *
     * @param address device memory
     * @param handle receives 64 bytes
     * @return 0
     */
    int exportMemory(long address, MemorySegment handle);

    /**
     * {@code cudaIpcOpenMemHandle} on the thread's device.
     *
     * @param handle 64 bytes from another process
     * @return the address of the allocation's first byte
     */
    long importMemory(MemorySegment handle);

    /**
     * {@code cudaIpcCloseMemHandle}.
     *
     * @param address from {@link #importMemory}
     * @return 0
     */
    int closeImported(long address);

    /**
     * {@code cudaDeviceFlushGPUDirectRDMAWrites}: what network cards wrote is seen by the thread's device.
     *
     * @return 0
     */
    int flushWrites();

    /**
     * {@code cudaGetErrorName} and {@code cudaGetErrorString}.
     *
     * @param code positive
     * @return for example {@code cudaErrorInvalidValue (1), invalid argument}
     */
    String errorText(int code);

    /**
     * Rows of equal length, as for a page of each layer of a cache.
     *
     * @param to the first row's place
     * @param toPitch bytes from one row's place to the next one's, at least the width
     * @param from the first row
     * @param fromPitch bytes from one row to the next one, at least the width
     * @param width bytes of a row
     * @param height rows
     */
    record Rows(long to, long toPitch, long from, long fromPitch, long width, long height) {}
}
