package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Nodes reduced to what a TCP engine needs, whose pollers the test's thread runs in turn on a clock of its own. */
final class Rig implements AutoCloseable {
    static final long SECOND_NS = 1_000_000_000;
    static final byte FILL = (byte) 0xEE;
    /** Far more duty cycles than anything on loopback takes; an engine that waits for ever ends here. */
    private static final int MANY_CYCLES = 20_000_000;

    final Arena arena = Arena.ofShared();
    final List<Side> sides = new ArrayList<>();
    final Random random = new Random(20_260_101);
    /** What runs beside the nodes in each cycle. */
    final List<Runnable> others = new ArrayList<>();
    long cycles;
    long nowNs = 1;
    Executor lookups = Runnable::run;
    TcpEnvironment.Names names = InetAddress::getByName;

    Side side(String name) {
        return side(new NodeId(name, 1000 + sides.size()), "c", TcpConfig.defaults());
    }

    Side side(NodeId id, String cluster, TcpConfig config) {
        Side side = new Side(id, cluster, config);
        sides.add(side);
        return side;
    }

    MemorySegment filled(long bytes, byte fill) {
        return arena.allocate(bytes, 64).fill(fill);
    }

    /** Every byte's value depends on its offset. */
    MemorySegment pattern(long bytes) {
        MemorySegment segment = arena.allocate(bytes, 64);
        for (long i = 0; i < bytes; i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, patternAt(i));
        }
        return segment;
    }

    static byte patternAt(long offset) {
        return (byte) (offset * 31 + (offset >> 8) * 7 + (offset >> 16));
    }

    void cycle() {
        cycles++;
        for (Side side : sides) {
            side.engine.poller().doWork();
        }
        others.forEach(Runnable::run);
    }

    void until(BooleanSupplier done) {
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
    void settle() {
        for (int i = 0; i < 2_000; i++) {
            cycle();
        }
    }

    @Override
    public void close() {
        sides.forEach(side -> side.engine.poller().onClose());
        sides.forEach(Side::closeRegions);
        arena.close();
    }

    /** One node. */
    final class Side {
        final NodeId id;
        final RegionTable regions;
        final Guards guards = new Guards();
        final Counters counters = new Counters();
        final List<String> messages = new ArrayList<>();
        final TcpTransferEngine engine;
        final TcpConfig config;

        Side(NodeId id, String cluster, TcpConfig config) {
            this.id = id;
            this.config = config;
            Waiter waiter = (done, deadline) -> {
                until(done);
                return true;
            };
            regions = new RegionTable(id, waiter, () -> nowNs, SECOND_NS);
            engine = new TcpTransferEngine(new EngineContext(id, cluster, regions, guards, counters, () -> nowNs,
                    (from, bytes) -> messages.add(from.name() + ":" + new String(bytes, StandardCharsets.UTF_8))),
                    config, new TcpEnvironment(random, lookups, names));
        }

        Endpoint endpoint() {
            return Endpoint.parse(engine.advertised().orElseThrow(), 0);
        }

        Peer peer() {
            return new Peer(id, Map.of("tcp", engine.advertised().orElseThrow()));
        }

        Region register(MemorySegment segment, Access access) {
            return regions.register(Memory.of(segment), access);
        }

        Result read(Peer owner, int region, long offset, long length, Region into) {
            Result result = new Result();
            result.read.from(owner, region, offset, length).into(into, 0).by(nowNs + 60 * SECOND_NS);
            return submit(result);
        }

        Result submit(Result result) {
            result.status = null;
            if (!engine.submit(result.read)) {
                throw new AssertionError(result.read + " was not accepted");
            }
            return result;
        }

        long count(Counter counter) {
            return counters.get(counter);
        }

        void closeRegions() {
            regions.open().forEach(Region::close);
        }
    }

    /** What became of a read. */
    static final class Result implements ReadListener {
        final GuardedRead read = new GuardedRead(this, 0);
        @Nullable
        ReadStatus status;
        int ends;
        boolean givenUp;
        Runnable onEnd = () -> {};

        @Override
        public void onReadEnded(GuardedRead ended, ReadStatus how) {
            status = how;
            ends++;
            onEnd.run();
        }

        @Override
        public boolean isGivenUp(GuardedRead asked) {
            return givenUp;
        }

        boolean ended() {
            return status != null;
        }

        MooncakeException cause() {
            MooncakeException cause = read.cause();
            if (cause == null) {
                throw new AssertionError("no cause for " + status);
            }
            return cause;
        }
    }

    /** Guards that tests set; counts pins. */
    static final class Guards implements GuardSource {
        long value = 42;
        /** The value that guard() answers, from the given chunk on. */
        long later = 42;
        int laterFromPin = Integer.MAX_VALUE;
        int pins;
        int pinned;
        long guardedBytes = Long.MAX_VALUE;

        @Override
        public long pin(int region, long guardOffset, long expected, long offset, long length) {
            if (guardOffset % 64 != 0 || offset + length > guardedBytes) {
                return REFUSED;
            }
            if (expected != value) {
                return STALE;
            }
            pinned++;
            return pins++;
        }

        @Override
        public long guard(long handle) {
            return handle >= laterFromPin ? later : value;
        }

        @Override
        public void unpin(long handle) {
            pinned--;
        }

        @Override
        public @Nullable Memory table(int region) {
            return null;
        }
    }

    static boolean holdsPattern(MemorySegment segment, long at, long length, long patternFrom) {
        for (long i = 0; i < length; i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, at + i) != patternAt(patternFrom + i)) {
                return false;
            }
        }
        return true;
    }

    static boolean isFilled(MemorySegment segment, byte fill) {
        for (long i = 0; i < segment.byteSize(); i++) {
            if (segment.get(ValueLayout.JAVA_BYTE, i) != fill) {
                return false;
            }
        }
        return true;
    }

    static ByteBuffer utf8(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }
}
