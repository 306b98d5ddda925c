package io.mooncake.testing;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Nodes reduced to what an engine needs, whose pollers the test's thread runs in turn on a clock of its own. A subclass says which
 * engine, and what it can do.
 */
public abstract class EngineRig implements AutoCloseable {
    /** A second. */
    public static final long SECOND_NS = 1_000_000_000;
    /** What destinations hold before. */
    public static final byte FILL = (byte) 0xEE;
    /** Far more duty cycles than anything takes; an engine that waits for ever ends here. */
    private static final int MANY_CYCLES = 20_000_000;
    private static final int SETTLING_CYCLES = 3_000;
    private static final int GUARDS = 16;
    private static final long OFFSET_MASK = 0xFFFF_FFFFL;

    private final Arena arena = Arena.ofShared();
    private final List<Side> sides = new ArrayList<>();
    private long nowNs = 1;

    /** The engine of one node. */
    protected abstract TransferEngine engine(EngineContext context);

    /** Whether the engine reads from its own node only. */
    public boolean isLocal() {
        return false;
    }

    /** Whether the engine sends messages. */
    public boolean canSend() {
        return true;
    }

    /** Whether the engine sends a LOAD before the BACKGROUNDs that wait. */
    public boolean sendsLoadsFirst() {
        return true;
    }

    /** The length from which on reads wait in the engine's queue. */
    public long queuedBytes() {
        return 1;
    }

    /** The length of a read that takes many duty cycles. */
    public long largeBytes() {
        return 64L << 20;
    }

    /** How long after its deadline a read ends that has work outstanding then. */
    public long endBoundNs() {
        return 0;
    }

    /** How often an engine uses a region as long as peers may read it, with no read going on. */
    public int lastingUses() {
        return 0;
    }

    /** What the nodes' clocks show. */
    public long nowNs() {
        return nowNs;
    }

    /** Lets time pass without running anybody. */
    public void advance(long ns) {
        nowNs += ns;
    }

    /** From now on the node answers nobody, and nobody knows. */
    public void freeze(Side side) {
        side.frozen = true;
    }

    /** Ends {@link #freeze}. */
    public void thaw(Side side) {
        side.frozen = false;
    }

    /** Whether nodes have regions that are read without a guard, and as many as they like. */
    public boolean hasPlainRegions() {
        return true;
    }

    /** Whether the engine reads host memory into host memory. */
    public boolean copiesOnHost() {
        return true;
    }

    /** Whether a read stands still while its owner's node does. */
    public boolean needsOwner() {
        return !isLocal();
    }

    /** Why a node is not reached in another life than the one it is in. */
    public Kind anotherLife() {
        return Kind.STALE_INCARNATION;
    }

    /** Zeros in which a node's guards are to stand. */
    protected MemorySegment guardTable(NodeId owner, long bytes) {
        return arena.allocate(bytes, GuardSource.GUARD_STRIDE);
    }

    /** Lets a node find another one where it must do so before it reads. */
    public void connect(Side reader, Side owner) {}

    /** Ends a node, as far as its peers see it. */
    public void stop(Side side) {
        side.engine.poller().onClose();
    }

    /** What a segment of the rig's is to engines; by default host memory. */
    protected Memory memoryOf(MemorySegment segment) {
        return Memory.of(segment);
    }

    /** Memory of a node that peers may read, with the pattern in it; by default a region without guards. */
    public Source source(Side owner, long bytes) {
        MemorySegment pattern = pattern(bytes);
        Region region = owner.register(pattern, Access.READABLE);
        return new Source(owner, region, 0, pattern, GuardedRead.NO_GUARD);
    }

    /** The same, only to be read with the first guard of its owner's table. */
    public Source guarded(Side owner, long bytes) {
        MemorySegment pattern = pattern(bytes);
        return new Source(owner, owner.register(pattern, Access.GUARDED), 0, pattern, 0);
    }

    /** A node in its first life. */
    public Side side(String name) {
        return side(new NodeId(name, 1000), "c");
    }

    /** A node in any life and cluster. */
    protected final Side side(NodeId id, String cluster) {
        Side side = new Side(id, cluster);
        sides.add(side);
        return side;
    }

    /** The nodes, in the order in which they were made. */
    public List<Side> sides() {
        return sides;
    }

    /** Closed with the rig. */
    public Arena arena() {
        return arena;
    }

    /** Native memory full of one byte. */
    public MemorySegment filled(long bytes, byte fill) {
        return arena.allocate(bytes, 64).fill(fill);
    }

    /** Native memory in which every byte's value depends on its offset. */
    public MemorySegment pattern(long bytes) {
        return fillWithPattern(arena.allocate(bytes, 64));
    }

    /** Has every byte's value depend on its offset. */
    public static MemorySegment fillWithPattern(MemorySegment segment) {
        for (long i = 0; i < segment.byteSize(); i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, patternAt(i));
        }
        return segment;
    }

    /** One byte of the pattern. */
    public static byte patternAt(long offset) {
        return (byte) (offset * 31 + (offset >> 8) * 7 + (offset >> 16));
    }

    /** Whether a stretch holds the pattern from one of its offsets on. */
    public static boolean holdsPattern(MemorySegment segment, long at, long length, long patternFrom) {
        for (long i = 0; i < length; i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, at + i) != patternAt(patternFrom + i)) {
                return false;
            }
        }
        return true;
    }

    /** Whether every byte is the same. */
    public static boolean isFilled(MemorySegment segment, byte fill) {
        for (long i = 0; i < segment.byteSize(); i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, i) != fill) {
                return false;
            }
        }
        return true;
    }

    /** A message. */
    public static ByteBuffer utf8(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    /** One duty cycle of every node. */
    public void cycle() {
        for (Side side : sides) {
            if (!side.frozen) {
                side.engine.poller().doWork();
            }
        }
    }

    /** Runs everybody until something is so. */
    public void until(BooleanSupplier done) {
        for (int i = 0; i < MANY_CYCLES; i++) {
            if (done.getAsBoolean()) {
                return;
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new AssertionError("not done within the test's time, after " + i + " duty cycles");
            }
            cycle();
        }
        throw new AssertionError("not done after " + MANY_CYCLES + " duty cycles");
    }

    /** Lets whatever is on its way arrive. */
    public void settle() {
        for (int i = 0; i < SETTLING_CYCLES; i++) {
            cycle();
        }
    }

    @Override
    public void close() {
        sides.forEach(side -> side.engine.poller().onClose());
        sides.forEach(side -> side.regions.open().forEach(Region::close));
        arena.close();
    }

    /** One node. */
    public final class Side {
        /** Who. */
        public final NodeId id;
        /** Its memory. */
        public final RegionTable regions;
        /** Its guards, the same for every region. */
        public final Guards guards;
        /** Its counters. */
        public final Counters counters = new Counters();
        /** What it was sent, with the sender's name. */
        public final List<String> messages = new ArrayList<>();
        /** Its engine. */
        public final TransferEngine engine;
        private boolean frozen;

        Side(NodeId id, String cluster) {
            this.id = id;
            guards = new Guards(guardTable(id, (long) GUARDS * GuardSource.GUARD_STRIDE));
            regions = new RegionTable(id, (done, deadline) -> {
                until(done);
                return true;
            }, EngineRig.this::nowNs, SECOND_NS);
            ControlChannel control = new ControlChannel(counters);
            control.onMessage(Topic.APPLICATION,
                    (from, bytes) -> messages.add(from.name() + ":" + new String(bytes, StandardCharsets.UTF_8)));
            engine = engine(new EngineContext(id, cluster, regions, guards, counters, EngineRig.this::nowNs, control));
        }

        /** How others know it. */
        public Peer peer() {
            return peer(id);
        }

        /** How those know it who mean another life. */
        public Peer peer(NodeId meant) {
            return new Peer(meant,
                    engine.advertised().<Map<String, String>>map(at -> Map.of(engine.name(), at)).orElse(Map.of()));
        }

        /** Registers memory. */
        public Region register(MemorySegment segment, Access access) {
            Region region = regions.register(memoryOf(segment), access);
            if (access == Access.GUARDED) {
                guards.guarded.add(region.id());
            }
            return region;
        }

        /** Registers memory that only it knows. */
        public Region own(MemorySegment segment) {
            return register(segment, Access.LOCAL_ONLY);
        }

        /** Begins a read with a far deadline. */
        public Reading read(Source source, long offset, long length, Region into) {
            Reading reading = new Reading();
            source.ask(reading.read, offset, length).into(into, 0).by(nowNs() + 1000 * SECOND_NS);
            return submit(reading);
        }

        /** The same of a region. */
        public Reading read(Side owner, Region from, long offset, long length, Region into) {
            return read(owner.peer(), from.id(), offset, length, into);
        }

        /** The same of what may not be there. */
        public Reading read(Peer owner, int region, long offset, long length, Region into) {
            Reading reading = new Reading();
            reading.read.from(owner, region, offset, length).into(into, 0).by(nowNs() + 1000 * SECOND_NS);
            return submit(reading);
        }

        /** The same of what has a guard, the first of the table. */
        public Reading readGuarded(Side owner, Region from, long length, long expected, Region into) {
            Reading reading = new Reading();
            reading.read.from(owner.peer(), from.id(), 0, length)
                    .guardedBy(0, expected)
                    .into(into, 0)
                    .by(nowNs() + 1000 * SECOND_NS);
            return submit(reading);
        }

        /** Submits what must be accepted. */
        public Reading submit(Reading reading) {
            reading.status = null;
            if (!engine.submit(reading.read)) {
                throw new AssertionError(reading.read + " was not accepted");
            }
            return reading;
        }

        /** A counter's value. */
        public long count(Counter counter) {
            return counters.get(counter);
        }
    }

    /** A read and what became of it. */
    public static final class Reading implements ReadListener {
        /** What is submitted. */
        public final GuardedRead read = new GuardedRead(this, 0);
        /** How it ended; null before. */
        public @Nullable ReadStatus status;
        /** How often it ended. */
        public int ends;
        /** How often it expired. */
        public int expired;
        /** Whether it was given up. */
        public boolean givenUp;
        /** Run at its end. */
        public Runnable onEnd = () -> {};

        @Override
        public void onReadEnded(GuardedRead ended, ReadStatus how) {
            status = how;
            ends++;
            onEnd.run();
        }

        @Override
        public void onReadExpired(GuardedRead late) {
            expired++;
        }

        @Override
        public boolean isGivenUp(GuardedRead asked) {
            return givenUp || expired > 0;
        }

        /** Whether it has ended. */
        public boolean ended() {
            return status != null;
        }

        /** Why it was refused or did not reach its peer. */
        public MooncakeException cause() {
            MooncakeException cause = read.cause();
            if (cause == null) {
                throw new AssertionError("no cause for " + status);
            }
            return cause;
        }
    }

    /** Guards in a table; counts pins. Every guard is 42 at first. */
    public static final class Guards implements GuardSource {
        /** The first value of every guard. */
        public static final long FIRST = 42;

        private final MemorySegment table;
        private final List<Integer> guarded = new ArrayList<>();
        private @Nullable UnitChecksums checksums;
        private int pins;
        private int pinned;
        private int changeAtPin = Integer.MAX_VALUE;
        private long changed;

        Guards(MemorySegment table) {
            this.table = table;
            for (int i = 0; i < GUARDS; i++) {
                set(i, FIRST);
            }
        }

        /** Changes a guard. */
        public void set(int number, long value) {
            table.set(ValueLayout.JAVA_LONG, (long) number * GUARD_STRIDE, value);
        }

        /** Whoever got the pin of that number, counted from 0, or a later one, sees another guard afterwards. */
        public void changeAtPin(int number, long value) {
            changeAtPin = number;
            changed = value;
        }

        /** From now on every region has these, an entry for each guard. */
        public void checksums(UnitChecksums table) {
            checksums = table;
        }

        /** Pins there ever were. */
        public int pins() {
            return pins;
        }

        /** Pins that were not ended. */
        public int pinned() {
            return pinned;
        }

        @Override
        public long pin(int region, long guardOffset, long expected, long offset, long length) {
            if (guardOffset % GUARD_STRIDE != 0 || guardOffset < 0 || guardOffset >= table.byteSize()) {
                return REFUSED;
            }
            if (table.get(ValueLayout.JAVA_LONG, guardOffset) != expected) {
                return STALE;
            }
            pinned++;
            return (long) pins++ << 32 | guardOffset;
        }

        @Override
        public long guard(long handle) {
            return handle >>> 32 >= changeAtPin ? changed : table.get(ValueLayout.JAVA_LONG, handle & OFFSET_MASK);
        }

        @Override
        public void unpin(long handle) {
            pinned--;
        }

        @Override
        public @Nullable Memory table(int region) {
            return guarded.contains(region) ? Memory.of(table) : null;
        }

        @Override
        public @Nullable UnitChecksums checksums(int region) {
            return checksums;
        }
    }
}
