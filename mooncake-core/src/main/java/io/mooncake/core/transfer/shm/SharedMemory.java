package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ForeignPins;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of a pool that this host's other processes can map: one file, made and written through at start, cut from its
 * beginning, never shrunk.
 *
 * <pre>
 *   create ─▶ reserve slots ─▶ guards ─▶ perhaps checksums ─▶ publish: from now on peers find it ─▶ close: no name, no lock any more
 * </pre>
 *
 * <p>What {@link #reserve} gave lives as long as its arena, also after {@link #close}. Used by the thread that starts or closes the node.
 */
public final class SharedMemory implements AutoCloseable {
    /** What a piece's length is rounded up to. */
    public static final long PAGE = 4096;

    private static final Logger LOG = LoggerFactory.getLogger(SharedMemory.class);

    private final NodeId owner;
    private final SharedDirectory directory;
    private final LockedFile file;
    private final FileChannel channel;
    private final long bytes;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment page;
    private final LentPins pins;

    /** Slots, guards, checksums: where each begins, and its bytes. */
    private final long[] starts = new long[3];
    private final long[] lengths = new long[3];
    private int pieces;
    private long reserved = Header.BYTES;
    private @Nullable Header header;
    private boolean closed;

    private SharedMemory(NodeId owner, SharedDirectory directory, LockedFile file, long bytes, LongSupplier nanoClock)
            throws IOException {
        this.owner = owner;
        this.directory = directory;
        this.file = file;
        this.bytes = bytes;
        channel = LockedFile.open(file.data(), true);
        page = channel.map(MapMode.READ_WRITE, 0, Header.BYTES, arena);
        pins = new LentPins(owner, directory.path(), nanoClock);
    }

    /**
     * Makes the file.
     *
     * @param parent an existing directory; the user's own one is made in it
     * @param owner the node
     * @param bytes what will be reserved in all, each piece rounded up to {@link #PAGE}
     * @param nanoClock the node's clock
     * @return memory of which every byte is backed
     * @throws MooncakeException CONFIG_ERROR, naming path, needed and free bytes, when it has no room; when the directory cannot be used or
     *     strangers can reach it
     */
    public static SharedMemory create(Path parent, NodeId owner, long bytes, LongSupplier nanoClock) {
        SharedDirectory directory = SharedDirectory.open(parent);
        long all = Math.addExact(Header.BYTES, bytes);
        LockedFile file = directory.create(SharedDirectory.poolName(owner), ".pool", all);
        // Of a process that ends without closing its node: else the memory would be gone until a node starts here again.
        file.data().toFile().deleteOnExit();
        try {
            return new SharedMemory(owner, directory, file, all, nanoClock);
        } catch (IOException e) {
            throw file.closeAfter(cannotMap(file.data(), e));
        }
    }

    private static MooncakeException cannotMap(Path path, IOException e) {
        return new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + path + " cannot be mapped: "
                + SharedDirectory.reason(e) + ": set sharedMemory = off", e);
    }

    /**
     * Maps the next piece: first the slots, then the guard table, then the checksums if blocks have any.
     *
     * @param length bytes
     * @param alignment at most a page
     * @param scope how long the mapping lives
     * @return zeros
     * @throws MooncakeException ILLEGAL_STATE for a fourth piece, or more than was made; CONFIG_ERROR
     */
    public MemorySegment reserve(long length, long alignment, Arena scope) {
        if (alignment > PAGE || length > bytes - reserved || pieces == starts.length) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "shared memory " + file.data() + " of " + bytes
                    + " bytes: " + reserved + " are taken, no room for " + length + " more aligned to " + alignment
                    + ", or it is no pool's slots, guards and checksums");
        }
        try {
            MemorySegment piece = channel.map(MapMode.READ_WRITE, reserved, length, scope);
            // Into this process's page table, so that the first block written is as fast as the others.
            piece.load();
            starts[pieces] = reserved;
            lengths[pieces++] = length;
            reserved = Math.min(bytes, (reserved + length + PAGE - 1) & -PAGE);
            return piece;
        } catch (IOException e) {
            throw cannotMap(file.data(), e);
        }
    }

    /**
     * Opens the memory to peers, under a new nonce.
     *
     * @param region the node's number of it
     */
    public void publish(int region) {
        if (pieces < 2) {
            throw new IllegalStateException("shared memory " + file.data() + " has no slots and guards yet");
        }
        SecureRandom random = new SecureRandom();
        Header published = new Header(region, owner.incarnation(), random.nextLong(), random.nextLong(), starts[0],
                lengths[0], starts[1], lengths[1], starts[2], lengths[2]);
        published.publish(page);
        header = published;
    }

    /**
     * Where peers find it.
     *
     * @return {@code directory#nonce}
     */
    public String address() {
        Header published = header;
        return directory.path() + "#" + (published == null ? "" : published.nonce());
    }

    /**
     * The views that readers of other processes have.
     *
     * @return for the block manager
     */
    public ForeignPins pins() {
        return pins;
    }

    LentPins lentPins() {
        return pins;
    }

    Path directory() {
        return directory.path();
    }

    /** Removes the files and gives the lock up; readers that have views keep what they have mapped. The second time does nothing. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        Header.close(page);
        try {
            file.close();
            channel.close();
        } catch (IOException e) {
            LOG.warn("node {}: {} was not removed; the next start in that directory does it", owner, file.data(), e);
        }
        pins.close();
        arena.close();
    }

    @Override
    public String toString() {
        return "shared memory " + file.data();
    }
}
