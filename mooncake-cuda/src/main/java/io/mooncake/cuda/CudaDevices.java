package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.cuda.PeerLink.Way;
import io.mooncake.cuda.runtime.CudaDriver;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.NativeDriver;
import io.mooncake.cuda.runtime.NativeRuntime;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The GPUs of this machine, for one node: pools in their memory, engines that copy, host memory pinned for them. Any thread.
 *
 * <p>Nothing here is to be closed but the pools (the node closes those that it uses) and what {@link #pin} gave.
 */
public final class CudaDevices {
    /** Where the kernel shows what it has loaded. */
    private static final Path MODULES = Path.of("/sys/module");

    private final CudaConfig config;
    private final CudaRuntime runtime;
    private final List<Device> devices = new ArrayList<>();
    private final List<PeerLink> links;
    private final HostPins pins;
    private final CudaDriver driver;
    /** How network cards get at each device's memory. */
    private final List<CardWay> cards = new ArrayList<>();
    /** Where other processes find what is on these devices, by the pools' memory. */
    private final Map<Memory, Path> shared = new ConcurrentHashMap<>();

    CudaDevices(CudaRuntime runtime, CudaConfig config) {
        this(runtime, NativeDriver.INSTANCE, MODULES, config);
    }

    CudaDevices(CudaRuntime runtime, CudaDriver driver, Path modules, CudaConfig config) {
        this.config = config;
        this.runtime = runtime;
        this.driver = driver;
        try {
            int count = runtime.deviceCount();
            for (int i = 0; i < count; i++) {
                devices.add(new Device(runtime, i));
            }
            links = PeerProbe.of(devices, config.probePeers());
            devices.forEach(device -> cards.add(CardWay.of(device, driver, modules)));
        } catch (CudaException e) {
            throw e.asMooncake();
        }
        if (devices.isEmpty()) {
            throw new MooncakeException(Kind.UNSUPPORTED, "no usable GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES");
        }
        pins = new HostPins(devices.getFirst(), config.pinLimit());
    }

    /**
     * Opens every GPU that the runtime counts.
     *
     * @param config settings
     * @return the devices
     * @throws MooncakeException UNSUPPORTED when there is none, with what {@link Cuda#unavailabilityCause} says
     */
    public static CudaDevices open(CudaConfig config) {
        Throwable why = Cuda.unavailabilityCause();
        if (why != null) {
            throw new MooncakeException(Kind.UNSUPPORTED, String.valueOf(why.getMessage()), why);
        }
        return new CudaDevices(NativeRuntime.INSTANCE, config);
    }

    /**
     * How many there are.
     *
     * @return devices, numbered from 0
     */
    public int count() {
        return devices.size();
    }

    CudaConfig config() {
        return config;
    }

    CudaRuntime runtime() {
        return runtime;
    }

    Device device(int number) {
        if (number < 0 || number >= devices.size()) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "device " + number + " of " + devices.size()
                    + ": they are numbered from 0; CUDA_VISIBLE_DEVICES says which are seen");
        }
        return devices.get(number);
    }

    /**
     * Describes memory of a device that somebody else has allocated, an inference engine's KV cache for example, so that network cards get at it, too,
     * where they get at the device's memory at all.
     *
     * @param device its number
     * @param address first byte on the device
     * @param length bytes, more than 0
     * @return to be registered with a node
     * @throws MooncakeException INVALID_ARGUMENT; CONFIG_ERROR when there is no such device
     */
    public DeviceMemory memory(int device, long address, long length) {
        return new DeviceMemory(device, address, length,
                DeviceCards.of(device(device), driver, cards.get(device), address, length));
    }

    /** Where other processes of this host find a pool; empty where it is not shared. */
    Optional<Path> shared(Memory memory) {
        return Optional.ofNullable(shared.get(memory));
    }

    HostPins pins() {
        return pins;
    }

    /** Whether a device copies straight into another one's memory. */
    boolean isDirect(int from, int to) {
        for (PeerLink link : links) {
            if (link.from() == from && link.to() == to) {
                return link.way() == Way.DIRECT;
            }
        }
        return from == to;
    }

    /** Whether a device reads another one's memory in place, even where copies are faster by the host. */
    private boolean isAddressable(int by, int on) {
        for (PeerLink link : links) {
            if (link.from() == by && link.to() == on) {
                return link.way() == Way.DIRECT || link.directNs() > 0;
            }
        }
        return false;
    }

    /**
     * How devices copy to each other.
     *
     * @return one for each ordered pair
     */
    public List<PeerLink> links() {
        return List.copyOf(links);
    }

    /**
     * Makes a pool in a device's memory, reserved at once.
     *
     * @param device its number
     * @param classes slots by length
     * @return to be closed by whoever uses it
     * @throws MooncakeException OUT_OF_MEMORY with the numbers; DEVICE_LOST; CONFIG_ERROR
     */
    public VramPool pool(int device, List<SizeClass> classes) {
        return opened(new VramPool(this, device(device), classes, peer -> isAddressable(peer, device)));
    }

    private VramPool opened(VramPool pool) {
        pool.shared().ifPresentOrElse(file -> shared.put(pool.memory(), file), () -> shared.remove(pool.memory()));
        return pool;
    }

    /**
     * Makes a pool in a device's memory whose blocks take as many bytes as they need, reserved at once. What is free of it is kept together by copies
     * inside the device.
     *
     * @param device its number
     * @param largest bytes of the longest block, and how many blocks there are at most
     * @param bytes of all of it
     * @return to be closed by whoever uses it
     * @throws MooncakeException OUT_OF_MEMORY with the numbers; DEVICE_LOST; CONFIG_ERROR
     */
    public VramPool poolOfRanges(int device, SizeClass largest, long bytes) {
        return opened(
                VramPool.ofRanges(this, device(device), largest, bytes, peer -> isAddressable(peer, device)));
    }

    /**
     * Makes a pool of equal slots in a part of what is free on a device.
     *
     * @param device its number
     * @param fraction of the free memory, above 0 and at most 1
     * @param blockBytes the longest block
     * @return to be closed by whoever uses it
     * @throws MooncakeException OUT_OF_MEMORY with the numbers; DEVICE_LOST; CONFIG_ERROR
     */
    public VramPool pool(int device, double fraction, long blockBytes) {
        return pool(device, VramPool.classesOf(device(device), fraction, blockBytes));
    }

    /**
     * Opens the memory of a pool of another process on this host.
     *
     * @param device of this process, which reads it
     * @param export what {@link VramPool#export} gave there
     * @return to be closed before the other pool is
     * @throws MooncakeException INVALID_ARGUMENT for other bytes; CONFIG_ERROR when that process is gone, or is this one
     */
    public ImportedVram importPool(int device, byte[] export) {
        return new ImportedVram(device(device), export);
    }

    /**
     * Makes the engine that copies from and to a device, for a node.
     *
     * @param context what the node gives
     * @param device its number
     * @return the node's to run and close
     * @throws MooncakeException DEVICE_LOST, OUT_OF_MEMORY for its pinned buffers
     */
    public CudaTransferEngine engine(EngineContext context, int device) {
        try {
            return new CudaTransferEngine(context, this, device(device));
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }

    /**
     * Has a host pool's memory pinned as it is reserved, part by part, and let go when its pool closes.
     *
     * @param source where the memory comes from
     * @return for {@link io.mooncake.core.pool.DramPool}; it throws OUT_OF_MEMORY where the limit or the system refuses
     */
    public MemorySource pinned(MemorySource source) {
        return (bytes, alignment, arena) -> pins.reserve(source, bytes, alignment, arena);
    }

    /**
     * Pins host memory of the caller's, part by part, so that copies from and to it need no buffer in between.
     *
     * @param memory native, from a page's start on
     * @return to be closed before the memory is freed
     * @throws MooncakeException OUT_OF_MEMORY where the limit or the system refuses; IN_USE when a part is pinned already
     */
    public Pin pin(MemorySegment memory) {
        return pins.pin(memory.address(), memory.byteSize());
    }

    /** Host memory that is pinned. */
    public interface Pin extends AutoCloseable {
        /** Lets the memory go; whatever the runtime says, no copy takes it for pinned from now on. The second time does nothing. */
        @Override
        void close();
    }

    /**
     * What has become of the devices.
     *
     * @return one line a device: its place, its memory, how network cards get at that, or why it is lost
     */
    public List<String> describe() {
        List<String> lines = new ArrayList<>();
        for (Device device : devices) {
            CudaException loss = device.loss();
            lines.add(device + " at " + device.pciBusId() + ": "
                    + (loss == null
                            ? memory(device) + "; " + cards.get(device.number())
                            : "lost: " + loss.getMessage()));
        }
        return lines;
    }

    private static String memory(Device device) {
        try {
            return device.freeBytes() + " of " + device.totalBytes() + " bytes free";
        } catch (CudaException e) {
            return "failed just now: " + e.getMessage();
        }
    }
}
