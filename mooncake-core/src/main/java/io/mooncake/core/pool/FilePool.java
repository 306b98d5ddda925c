package io.mooncake.core.pool;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.core.transfer.UnitFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file cut into slots, whose blocks outlive the process. Any thread; reserving and releasing never block, what {@link UnitFile} says
 * does.
 *
 * <pre>
 *   directory/  mooncake.slots     the blocks' bytes, as long as all slots are
 *               mooncake.journal   what is in which slot, with the checksums of its units
 *               mooncake.lock      locked by the process that has the directory
 * </pre>
 *
 * <p>A block is durable when its record is: bytes written, bytes on the device, record appended, record on the device, in this order; and
 * a record that its slot is free is on the device before the first byte of the next block is written there. Opening believes the last
 * record of a slot, and of that only what its bytes' checksums bear out.
 */
public final class FilePool extends SlottedPool implements UnitFile {
    private static final Logger LOG = LoggerFactory.getLogger(FilePool.class);

    private static final String SLOTS = "mooncake.slots";
    private static final String JOURNAL = "mooncake.journal";
    private static final String LOCK = "mooncake.lock";
    private static final Set<String> OWN = Set.of(SLOTS, JOURNAL, JOURNAL + ".new", LOCK);
    private static final int ALIGNMENT = 4096;
    private static final int RECORD_BYTES = BlockId.BYTES + 3 * Long.BYTES;
    private static final int FORMAT = 1;
    /** Of this process, which has one lock on each: opening a lock's file once more, and closing it, would end that lock. */
    private static final Set<Path> IN_USE_HERE = ConcurrentHashMap.newKeySet();

    private final String name;
    private final Path directory;
    private final FileChannel lock;
    /** The directory as it is named in {@link #IN_USE_HERE}. */
    private @Nullable Path locked;
    private final SlotFile file;
    private final SlotJournal journal;
    private final SlotBook book;
    private final Memory memory;
    private final Arena arena = Arena.ofShared();
    private final GuardTable guards;
    private final UnitChecksums checksums;
    private final List<Stored> stored;
    /** By slot: what is being written there. */
    private final AtomicReferenceArray<@Nullable Stored> intents;
    private final int lost;
    private volatile boolean keeping;
    private boolean closed;

    /**
     * Opens a directory, and verifies the blocks that it has.
     *
     * @param name names the pool in messages
     * @param directory exists; nobody else uses it
     * @param classes slots by length, in any order, at least one
     * @param direct whether to go past the page cache where the file system lets it
     * @throws MooncakeException CONFIG_ERROR with path and reason: no directory, no rights, no room, other slots there; IN_USE when another
     *     node has the directory
     */
    public FilePool(String name, Path directory, List<SizeClass> classes, boolean direct) {
        this.name = name;
        this.directory = directory;
        SlotBook layout = new SlotBook(name, classes, ALIGNMENT);
        lock = lock(directory);
        SlotFile opened = null;
        SlotJournal read = null;
        try {
            warnOfForeignFiles();
            read = openJournal(layout);
            opened = SlotFile.open(directory.resolve(SLOTS), layout.bytes(), direct);
            read.begin();
            file = opened;
            journal = read;
            guards = new GuardTable(arena.allocate((long) layout.slots() * GuardTable.STRIDE, ALIGNMENT));
            checksums = new UnitChecksums(
                    arena.allocate(UnitChecksums.bytes(layout.slots(), layout.largestSlotBytes()), ALIGNMENT),
                    layout.slots());
            stored = new ArrayList<>();
            lost = recover(layout);
            BitSet taken = new BitSet();
            stored.forEach(block -> taken.set(block.slot()));
            book = new SlotBook(name, classes, ALIGNMENT, taken);
            memory = new FileMemory(file.path(), book.bytes());
            intents = new AtomicReferenceArray<>(book.slots());
            journal.sync();
        } catch (IOException e) {
            giveUp(opened, read);
            throw unusable(e);
        } catch (RuntimeException | Error e) {
            giveUp(opened, read);
            throw e;
        }
        LOG.info("{}: {}, {} blocks are back{}", this, file, stored.size(),
                lost + journal.damaged() == 0
                        ? ""
                        : ", " + lost + " were damaged, and " + journal.damaged() + " records");
    }

    private void giveUp(@Nullable SlotFile opened, @Nullable SlotJournal read) {
        if (opened != null) {
            opened.close();
        }
        if (read != null) {
            read.close();
        }
        unlock();
        arena.close();
    }

    private MooncakeException unusable(IOException e) {
        return new MooncakeException(Kind.CONFIG_ERROR, "directory " + directory + " of pool " + name
                + " cannot be used: " + reason(e) + "; name one that exists and that this user may write", e);
    }

    private static String reason(IOException e) {
        return e.getClass().getSimpleName() + ": " + e.getMessage();
    }

    private SlotJournal openJournal(SlotBook layout) throws IOException {
        ByteBuffer text = ByteBuffer.allocate(2 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        // As long as slots keep their places, their number may change.
        text.putLong(FORMAT).putLong(layout.slots() == 1 ? layout.bytes() : layout.offset(1));
        try {
            return SlotJournal.open(directory.resolve(JOURNAL), layout.slots(), text.array());
        } catch (SlotJournal.OtherLayoutException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "directory " + directory + " of pool " + name
                    + " has blocks in slots of another length than " + ByteSize.format(layout.largestSlotBytes())
                    + ": set the block size that it had, or empty it", e);
        }
    }

    // ---- the directory

    private FileChannel lock(Path where) {
        Path real;
        try {
            real = where.toRealPath();
        } catch (IOException e) {
            throw unusable(e);
        }
        if (!IN_USE_HERE.add(real)) {
            throw inUse();
        }
        FileChannel channel = null;
        try {
            channel = FileChannel.open(where.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (channel.tryLock() != null) {
                locked = real;
                return channel;
            }
        } catch (IOException e) {
            IN_USE_HERE.remove(real);
            closeQuietly(channel);
            throw unusable(e);
        }
        IN_USE_HERE.remove(real);
        closeQuietly(channel);
        throw inUse();
    }

    private MooncakeException inUse() {
        return new MooncakeException(Kind.IN_USE, "directory " + directory + " of pool " + name
                + " is another node's: name one for each node, or end that one");
    }

    private static void closeQuietly(@Nullable FileChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                LOG.debug("closing a lock file", e);
            }
        }
    }

    private void unlock() {
        closeQuietly(lock);
        if (locked != null) {
            IN_USE_HERE.remove(locked);
        }
    }

    private void warnOfForeignFiles() throws IOException {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                if (!OWN.contains(String.valueOf(entry.getFileName()))) {
                    LOG.warn("{} is in the directory of pool {} and none of its files: left as it is", entry, name);
                }
            }
        }
    }

    // ---- what was there

    /** Blocks whose bytes are not what their record says; the others are in {@link #stored}. */
    private int recover(SlotBook layout) {
        int damaged = 0;
        try (Arena buffers = Arena.ofConfined()) {
            MemorySegment unit = buffers.allocate(GuardSource.UNIT_BYTES, Math.max(ALIGNMENT, file.alignment()));
            for (int slot = 0; slot < layout.slots(); slot++) {
                byte[] record = journal.body(slot);
                if (record == null) {
                    continue;
                }
                Stored block = block(slot, record, layout);
                if (block != null && isWhole(block, record, layout, unit)) {
                    stored.add(block);
                } else {
                    LOG.warn("{}: the block of slot {} is damaged and not served", this, slot);
                    journal.evicted(slot);
                    damaged++;
                }
            }
        }
        return damaged;
    }

    private static @Nullable Stored block(int slot, byte[] record, SlotBook layout) {
        ByteBuffer in = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
        if (record.length < RECORD_BYTES) {
            return null;
        }
        BlockId id = BlockId.read(in);
        Version version = new Version(in.getLong(), in.getLong());
        long length = in.getLong();
        boolean sane = length > 0 && length <= layout.slotBytes(slot)
                && record.length >= RECORD_BYTES + units(length) * Integer.BYTES;
        return sane ? new Stored(slot, id, version, length) : null;
    }

    private static int units(long length) {
        return (int) ((length - 1) / GuardSource.UNIT_BYTES + 1);
    }

    private boolean isWhole(Stored block, byte[] record, SlotBook layout, MemorySegment unit) {
        ByteBuffer sums = ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN).position(RECORD_BYTES);
        checksums.begin(block.slot(), layout.offset(block.slot()), block.length());
        CRC32C crc = new CRC32C();
        for (int i = 0; i < units(block.length()); i++) {
            long from = (long) i * GuardSource.UNIT_BYTES;
            long bytes = Math.min(GuardSource.UNIT_BYTES, block.length() - from);
            try {
                file.read(layout.offset(block.slot()) + from, unit.asSlice(0, aligned(bytes)));
            } catch (IOException e) {
                LOG.warn("{}: slot {} cannot be read: {}", this, block.slot(), e.getMessage());
                return false;
            }
            crc.reset();
            crc.update(unit.asSlice(0, bytes).asByteBuffer());
            int sum = sums.getInt();
            checksums.put(block.slot(), i, sum);
            if (sum != (int) crc.getValue()) {
                return false;
            }
        }
        return true;
    }

    private long aligned(long bytes) {
        return bytes + file.alignment() - 1 & -file.alignment();
    }

    @Override
    public List<Stored> stored() {
        return List.copyOf(stored);
    }

    /**
     * What could not be believed when the directory was opened.
     *
     * @return blocks whose bytes were not those of their record
     */
    public int lost() {
        return lost;
    }

    // ---- the pool

    @Override
    public String name() {
        return name;
    }

    @Override
    public Tier tier() {
        return Tier.SLOW;
    }

    @Override
    public int device() {
        return -1;
    }

    @Override
    protected SlotBook book() {
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

    @Override
    public UnitChecksums checksums() {
        return checksums;
    }

    @Override
    public void intend(int slot, BlockId id, Version version, long length) {
        intents.set(slot, new Stored(slot, id, version, length));
    }

    @Override
    public void forget(int slot) {
        if (!keeping) {
            journal.evicted(slot);
        }
    }

    @Override
    public void release(int slot) {
        book.check(slot);
        if (!keeping) {
            // Before the slot can be reserved again.
            journal.evicted(slot);
        }
        super.release(slot);
    }

    @Override
    public void keep() {
        keeping = true;
    }

    // ---- the file

    @Override
    public int alignment() {
        return file.alignment();
    }

    /**
     * Whether reads and writes go past the page cache.
     *
     * @return false where the file system has no direct I/O, or it was not wanted
     */
    public boolean isDirect() {
        return file.isDirect();
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        file.read(offset, into);
    }

    @Override
    public int slotAt(long offset) {
        int low = 0;
        int high = book.slots() - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (book.offset(middle) <= offset) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    @Override
    public void beginWrite(long offset) throws IOException {
        int slot = slotAt(offset);
        Stored intent = intents.get(slot);
        if (intent == null) {
            throw new IOException(this + ": nobody said what is to be written into slot " + slot);
        }
        if (!journal.mayOverwrite(slot)) {
            journal.sync();
        }
        checksums.begin(slot, book.offset(slot), intent.length());
    }

    @Override
    public void write(long offset, MemorySegment from) throws IOException {
        file.write(offset, from);
    }

    @Override
    public void makeDurable(long[] offsets) throws IOException {
        if (offsets.length > 0) {
            file.sync();
        }
        for (long offset : offsets) {
            Stored block = intents.getAndSet(slotAt(offset), null);
            if (block != null) {
                journal.written(block.slot(), record(block));
            }
        }
        journal.sync();
    }

    private byte[] record(Stored block) {
        ByteBuffer out = ByteBuffer.allocate(RECORD_BYTES + units(block.length()) * Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        block.id().write(out);
        out.putLong(block.version().counter()).putLong(block.version().writer()).putLong(block.length());
        for (int i = 0; i < units(block.length()); i++) {
            long from = (long) i * GuardSource.UNIT_BYTES;
            out.putInt((int) checksums.sum(block.slot(), book.offset(block.slot()) + from,
                    Math.min(GuardSource.UNIT_BYTES, block.length() - from)));
        }
        return out.array();
    }

    @Override
    public boolean isBehind() {
        return !journal.isSynced();
    }

    /** {@inheritDoc} What is durable stays. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        book.close();
        guards.retire();
        // The flag of whoever closes would close the journal's file under its last record.
        boolean interrupted = Thread.interrupted();
        try {
            journal.sync();
        } catch (IOException e) {
            LOG.warn("{}: blocks that were evicted last may come back: {}", this, e.getMessage());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        journal.close();
        file.close();
        unlock();
        arena.close();
        closed = true;
    }

    /**
     * Says where it is, how it is read, and what was there at first; for people.
     *
     * @return one line
     */
    public String describe() {
        return file + ", " + stored.size() + " blocks were back at the start, " + lost + " were damaged; a journal of "
                + journal.bytes() + " bytes";
    }

    /** For messages. */
    @Override
    public String toString() {
        return "pool " + name + " in " + directory;
    }
}
