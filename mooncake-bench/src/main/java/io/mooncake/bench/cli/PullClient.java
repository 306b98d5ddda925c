package io.mooncake.bench.cli;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The pulling side of {@code transfer}: guarded reads of a server's blocks into a region of its own, walking through both. Every
 * transfer is prepared before the clock runs and submitted again on each pass. Used by one thread, which in INVOKER mode also runs
 * the node.
 */
final class PullClient implements AutoCloseable {
    /** What a JVM compiles it compiles before the first size, which would else be measured half interpreted. */
    private static final long WARM_JVM_NS = 2_000_000_000;
    /** Transfers prepared for one walk: more would only measure how the heap holds them. */
    private static final int WALK = 65_536;
    private static final long LONGEST_NS = Duration.ofMinutes(5).toNanos();
    private static final int LEAST_PULLS = 3;
    private static final double WARM_UP = 0.3;

    private final PullSettings settings;
    private final Served server;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final Node node;
    private final Region region;
    private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private final ThreadMXBean threads = ManagementFactory.getPlatformMXBean(ThreadMXBean.class);

    PullClient(PullSettings settings, Served server) {
        this.settings = settings;
        this.server = server;
        memory = arena.allocate(settings.regionBytes(), 4096);
        node = Node.start(settings.nodes()
                .applyTo(NodeConfig.builder("client")
                        .registry(server.registry(settings.engine()))
                        .blockSize(1 << 20)
                        .poolSize(2 << 20))
                .build());
        server.meet(node);
        region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
        FirstPull.await(node, server.blocks().getFirst());
    }

    /**
     * Measures everything that the settings ask for.
     *
     * @param each told each figure as soon as it is there
     * @return all figures
     */
    List<PullFigure> measureAll(Consumer<PullFigure> each) {
        List<PullFigure> figures = new ArrayList<>();
        walk(Collections.min(settings.sizes()), 1).run(WARM_JVM_NS, LEAST_PULLS, new Histogram(LONGEST_NS, 3));
        for (int outstanding : settings.outstanding()) {
            for (long size : settings.sizes()) {
                PullFigure figure = measure(size, outstanding);
                figures.add(figure);
                each.accept(figure);
            }
        }
        return figures;
    }

    private PullFigure measure(long size, int outstanding) {
        Walk walk = walk(size, outstanding);
        Histogram latency = new Histogram(LONGEST_NS, 3);
        walk.run((long) (settings.seconds() * WARM_UP * 1e9),
                settings.wholePassFirst() ? walk.transfers.length : LEAST_PULLS, latency);
        latency.reset();
        long serverCpu = server.process().cpuNs();
        long clientCpu = system.getProcessCpuTime();
        long allocated = threads.getTotalThreadAllocatedBytes();
        long start = System.nanoTime();
        walk.run((long) (settings.seconds() * 1e9), LEAST_PULLS, latency);
        long tookNs = System.nanoTime() - start;
        allocated = threads.getTotalThreadAllocatedBytes() - allocated;
        clientCpu = system.getProcessCpuTime() - clientCpu;
        serverCpu = server.process().cpuNs() - serverCpu;
        long pulls = latency.getTotalCount();
        double bytes = (double) size * pulls;
        return new PullFigure(size, walk.outstanding, pulls, latency.getValueAtPercentile(50) / 1e3,
                latency.getValueAtPercentile(99) / 1e3, bytes / tookNs, (double) allocated / pulls, clientCpu / bytes,
                serverCpu / bytes);
    }

    private Walk walk(long size, int outstanding) {
        List<Transfer> transfers = new ArrayList<>();
        List<Long> positions = new ArrayList<>();
        TransferOptions options = TransferOptions.DEFAULT.withTimeout(Duration.ofMinutes(1));
        long start = 0;
        for (BlockRef block : server.blocks()) {
            for (long at = 0; at + size <= block.length() && transfers.size() < WALK; at += size) {
                Piece piece = Piece.of(block, at, size, Destination.at(region, start + at));
                transfers.add(node.store().prepare(List.of(piece), options));
                positions.add(start + at);
            }
            start += block.length();
        }
        return new Walk(size, Math.min(outstanding, transfers.size()), transfers.toArray(new Transfer[0]),
                positions.stream().mapToLong(Long::longValue).toArray());
    }

    /** One way through the region: the transfers in order, over and over. */
    private final class Walk {
        private final long size;
        private final int outstanding;
        private final Transfer[] transfers;
        private final long[] positions;
        private final long[] submittedNs;
        private int next;

        Walk(long size, int outstanding, Transfer[] transfers, long[] positions) {
            this.size = size;
            this.outstanding = outstanding;
            this.transfers = transfers;
            this.positions = positions;
            submittedNs = new long[transfers.length];
        }

        void run(long forNs, int leastPulls, Histogram latency) {
            int oldest = next;
            int inFlight = 0;
            long now = System.nanoTime();
            long end = now + forNs;
            for (int submitted = 0;;) {
                while (inFlight < outstanding && (now - end < 0 || submitted < leastPulls)) {
                    submittedNs[next] = now;
                    transfers[next].submit();
                    next = next + 1 == transfers.length ? 0 : next + 1;
                    inFlight++;
                    submitted++;
                    if (inFlight < outstanding) {
                        now = System.nanoTime();
                    }
                }
                if (inFlight == 0) {
                    return;
                }
                Transfer transfer = transfers[oldest];
                if (transfer.join() != Transfer.State.COMPLETED) {
                    throw failed(transfer);
                }
                now = System.nanoTime();
                latency.recordValue(Math.min(now - submittedNs[oldest], LONGEST_NS));
                if (settings.verify()) {
                    verify(positions[oldest], size);
                    now = System.nanoTime();
                }
                oldest = oldest + 1 == transfers.length ? 0 : oldest + 1;
                inFlight--;
            }
        }
    }

    private static IllegalStateException failed(Transfer transfer) {
        @Nullable
        Throwable cause = transfer.cause(0);
        return new IllegalStateException("a pull ended " + transfer.state() + ", its piece " + transfer.outcome(0),
                cause);
    }

    private void verify(long position, long size) {
        for (long at = position; at + Long.BYTES <= position + size; at += Long.BYTES) {
            // The next pass must not find this one's bytes.
            if (memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != TransferServer.word(at)) {
                throw new IllegalStateException(
                        "wrong bytes at " + at + " of the region in a pull of " + size + " at " + position);
            }
            memory.set(ValueLayout.JAVA_LONG_UNALIGNED, at, 0);
        }
    }

    @Override
    public void close() {
        region.close();
        node.close();
        arena.close();
    }
}
