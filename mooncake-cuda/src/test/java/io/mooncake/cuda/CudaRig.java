package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.DeviceMemory;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A node with the engine of a device: sources lie in one kind of memory, destinations in another. */
class CudaRig extends EngineRig {
    /** Where memory is. */
    enum Place {
        HOST(-1), PINNED(-1), DEVICE_0(0), DEVICE_1(1);

        final int device;

        Place(int device) {
            this.device = device;
        }
    }

    private static final long PAGE = 4096;

    final CudaDevices devices;
    private final Place from;
    private final Place to;
    private final Map<Long, Memory> onDevices = new HashMap<>();
    private final List<AutoCloseable> owned = new ArrayList<>();

    CudaRig(Place from, Place to) {
        this(from, to, CudaConfig.defaults().withChunks(256 << 10, 4).withPeerProbe(false));
    }

    CudaRig(Place from, Place to, CudaConfig config) {
        this(from, to, config, NativeRuntime.INSTANCE);
    }

    CudaRig(Place from, Place to, CudaConfig config, CudaRuntime runtime) {
        this.from = from;
        this.to = to;
        devices = new CudaDevices(runtime, config);
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        return devices.engine(context, Math.max(0, from.device >= 0 ? from.device : to.device));
    }

    @Override
    public boolean isLocal() {
        return true;
    }

    @Override
    public boolean copiesOnHost() {
        return false;
    }

    @Override
    public boolean canSend() {
        return false;
    }

    @Override
    public long largeBytes() {
        return 24L << 20;
    }

    @Override
    public MemorySegment pattern(long bytes) {
        return fillWithPattern(memory(from, bytes));
    }

    @Override
    public MemorySegment filled(long bytes, byte fill) {
        return memory(to, bytes).fill(fill);
    }

    private MemorySegment memory(Place place, long bytes) {
        return switch (place) {
            case HOST -> arena().allocate(bytes, 64);
            case PINNED -> pinned(bytes);
            default -> onDevice(place.device, bytes);
        };
    }

    /** Host memory that devices reach by themselves. */
    final MemorySegment pinned(long bytes) {
        MemorySegment memory = arena().allocate((bytes + PAGE - 1) & -PAGE, PAGE).asSlice(0, bytes);
        owned.add(devices.pin(memory));
        return memory;
    }

    /** Its bytes, as only the emulation's tests see them. */
    final MemorySegment onDevice(int device, long bytes) {
        DeviceMemory memory = new DeviceMemory(devices.device(device), bytes);
        owned.add(memory);
        MemorySegment seen = EmulatedCuda.bytes(memory.address(), bytes);
        onDevices.put(seen.address(), new Memory.DeviceMemory(device, memory.address(), bytes));
        return seen;
    }

    @Override
    protected Memory memoryOf(MemorySegment segment) {
        Memory onDevice = onDevices.get(segment.address());
        return onDevice == null || segment.isReadOnly() ? Memory.of(segment) : onDevice;
    }

    @Override
    public void close() {
        sides().forEach(side -> side.engine.poller().onClose());
        sides().forEach(side -> side.regions.open().forEach(Region::close));
        for (AutoCloseable object : owned.reversed()) {
            try {
                object.close();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
        super.close();
    }
}
