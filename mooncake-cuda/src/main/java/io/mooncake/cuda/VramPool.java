package io.mooncake.cuda;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.Book;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.RangeBook;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.pool.SlotBook;
import io.mooncake.core.pool.SlottedPool;
import io.mooncake.core.pool.StreamOrder;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.DeviceMemory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A device's memory cut into slots, or into ranges as blocks need them. Any thread; of slots reserve, release and quarantine are O(1), take no lock,
 * allocate nothing and make no call.
 *
 * <p>One reservation on the device and one guard table in pinned host memory are made at start and live until {@link #close()}; between them
 * nothing is allocated on the device. Slots start on multiples of 512 bytes. Addresses are numbers for the device: nothing here lets the host
 * read or write them.
 *
 * <p>Other processes of this host read it in place where the guards are in memory that they can map ({@link CudaConfig#withSharedDirectory}).
 *
 * <p>When the device is lost the pool is out: nothing can be reserved any more, what is used is released as ever, and closing it gives nothing
 * back, since there is nothing left.
 */
public final class VramPool extends SlottedPool {
    /** What the runtime aligns allocations to, at least 256; whole sectors for every copy engine. */
    static final long SLOT_ALIGNMENT = 512;

    private static final Logger LOG = LoggerFactory.getLogger(VramPool.class);

    private final Device device;
    private final Book book;
    private final DeviceMemory reservation;
    private final PoolGuards guardMemory;
    private final Memory memory;
    private final GuardTable guards;
    private final HandOvers streams;
    private boolean closed;

    VramPool(CudaDevices devices, Device device, List<SizeClass> classes, IntPredicate peers) {
        this(devices, device, new SlotBook(name(device), classes, SLOT_ALIGNMENT), peers);
    }

    /** Of blocks that take as many bytes as they need. */
    static VramPool ofRanges(CudaDevices devices, Device device, SizeClass largest, long bytes, IntPredicate peers) {
        return new VramPool(devices, device,
                new RangeBook(name(device), bytes, largest.blockBytes(), largest.count(), SLOT_ALIGNMENT), peers);
    }

    private VramPool(CudaDevices devices, Device device, Book book, IntPredicate peers) {
        this.device = device;
        this.book = book;
        try {
            reservation = reserve(device, book);
        } catch (CudaException e) {
            throw e.asMooncake();
        }
        try {
            guardMemory = new PoolGuards(devices, device, (long) book.slots() * GuardTable.STRIDE,
                    () -> ImportedVram.export(reservation, book.bytes()));
        } catch (CudaException e) {
            reservation.close();
            throw e.asMooncake();
        }
        guards = new GuardTable(guardMemory.segment());
        memory = devices.memory(device.number(), reservation.address(), book.bytes());
        streams = new HandOvers(device, devices.pins(), reservation.address(), peers);
    }

    /** The runtime's error says nothing of what there is: the numbers are looked at first. */
    private static DeviceMemory reserve(Device device, Book book) {
        long free = device.freeBytes();
        if (book.bytes() > free) {
            throw new MooncakeException(Kind.OUT_OF_MEMORY, book + " needs " + ByteSize.rounded((double) book.bytes())
                    + " (" + book.bytes() + " bytes) and " + device + " has " + ByteSize.rounded((double) free)
                    + " free of "
                    + ByteSize.rounded((double) device.totalBytes())
                    + ": make the pool smaller, or give the inference engine less");
        }
        return new DeviceMemory(device, book.bytes());
    }

    static List<SizeClass> classesOf(Device device, double fraction, long blockBytes) {
        if (!(fraction > 0 && fraction <= 1) || blockBytes <= 0) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "vram: fraction " + fraction
                    + " must be above 0 and at most 1, block size " + blockBytes + " positive");
        }
        long free;
        try {
            free = device.freeBytes();
        } catch (CudaException e) {
            throw e.asMooncake();
        }
        long stride = Math.addExact(blockBytes, SLOT_ALIGNMENT - 1) & -SLOT_ALIGNMENT;
        long slots = (long) (free * fraction) / stride;
        if (slots < 1 || slots > Integer.MAX_VALUE) {
            throw new MooncakeException(Kind.OUT_OF_MEMORY, "vram: " + fraction + " of the "
                    + ByteSize.rounded((double) free) + " that are free on " + device + " is room for " + slots
                    + " blocks of " + ByteSize.format(blockBytes) + ": take a larger part, or another block size");
        }
        return List.of(new SizeClass(blockBytes, (int) slots));
    }

    @Override
    public String name() {
        return name(device);
    }

    private static String name(Device device) {
        return "vram" + device.number();
    }

    @Override
    public Tier tier() {
        return Tier.VRAM;
    }

    @Override
    public int device() {
        return device.number();
    }

    @Override
    protected Book book() {
        return book;
    }

    @Override
    public Memory memory() {
        return memory;
    }

    @Override
    public GuardTable guards() {
        return guards;
    }

    /** {@inheritDoc} Streams are the device's; a source on another device must be reached by this one. */
    @Override
    public StreamOrder streams() {
        return streams;
    }

    /** {@inheritDoc} {@link #NONE} also when the device is lost. */
    @Override
    public int reserve(long length) {
        return device.loss() == null ? super.reserve(length) : NONE;
    }

    /**
     * Makes the pool's memory known to other processes of this host: see {@link CudaDevices#importPool}. The handle is of the reservation as a
     * whole, since the runtime knows no part of one; blocks are found by their offsets.
     *
     * @return 72 bytes, to be handed over by any way
     * @throws MooncakeException DEVICE_LOST; CONFIG_ERROR or UNSUPPORTED where the system does not have this
     */
    public byte[] export() {
        return ImportedVram.export(reservation, book.bytes());
    }

    /** Where this host's other processes find it; empty where it is not shared. */
    Optional<Path> shared() {
        return guardMemory.shared();
    }

    /** {@inheritDoc} Waits a while for other processes to end their reads. No slot can be reserved from the first call on, also when it throws; release the rest and call it again then. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        book.close();
        guards.retire();
        closed = true;
        boolean isRead = guardMemory.awaitReaders();
        try {
            streams.close();
            guardMemory.close();
            if (isRead) {
                LOG.warn("{} stays reserved on {} until this process ends: another process reads there still", name(),
                        device);
            } else {
                reservation.close();
            }
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }
}
