package io.mooncake.bench.jmh;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** What it costs the caller to submit a prepared read of another node's block, up to the engine's queue. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init") // by JMH
public class SubmitBenchmark {
    private static final int TRANSFERS = 1000;
    private static final int BYTES = 4096;

    private final Queue queue = new Queue();
    private final List<Transfer> transfers = new ArrayList<>();
    private Blocks blocks;
    private Node reader;
    private Region region;

    /** JMH makes one. */
    public SubmitBenchmark() {}

    /** Writes a block and prepares its reads, all of one range. */
    @Setup
    public void start() {
        blocks = new Blocks(1, BYTES);
        reader = Node.start(NodeConfig.builder("reader")
                .registry(blocks.node.config().environment().registry())
                .blockSize(BYTES)
                .poolSize(2 * BYTES)
                .spareSlots(1)
                .threading(ThreadingMode.INVOKER)
                .engines(context -> List.of(queue))
                .build());
        region = reader.register(Memory.of(Arena.ofAuto().allocate(BYTES, 64)), Access.LOCAL_ONLY);
        for (int i = 0; i < TRANSFERS; i++) {
            transfers.add(reader.store()
                    .prepare(List.of(Piece.of(blocks.refs.get(0), 0, BYTES, Destination.at(region, 0))),
                            TransferOptions.DEFAULT));
        }
    }

    /** Ends what was submitted. */
    @TearDown(Level.Invocation)
    public void end() {
        queue.end();
    }

    /** Ends the nodes. */
    @TearDown
    public void stop() {
        region.close();
        reader.close();
        blocks.close();
    }

    /** Submits. */
    @Benchmark
    @OperationsPerInvocation(TRANSFERS)
    public void submit() {
        for (int i = 0; i < TRANSFERS; i++) {
            transfers.get(i).submit();
        }
    }

    /** An engine that takes reads and does nothing with them. */
    private static final class Queue implements TransferEngine, Poller {
        private final GuardedRead[] reads = new GuardedRead[TRANSFERS];
        private int count;

        @Override
        public String name() {
            return "queue";
        }

        @Override
        public String roleName() {
            return name();
        }

        @Override
        public Optional<String> advertised() {
            return Optional.empty();
        }

        @Override
        public boolean reaches(Peer peer) {
            return true;
        }

        @Override
        public boolean submit(GuardedRead read) {
            reads[count++] = read;
            return true;
        }

        void end() {
            while (count > 0) {
                reads[--count].end(ReadStatus.OK, null);
            }
        }

        @Override
        public void abort(GuardedRead read) {}

        @Override
        public boolean send(Peer peer, ByteBuffer message) {
            return false;
        }

        @Override
        public Poller poller() {
            return this;
        }

        @Override
        public int doWork() {
            return 0;
        }

        @Override
        public void park(long maxNs) {
            Thread.onSpinWait();
        }

        @Override
        public void wakeup() {}

        @Override
        public void onClose() {
            end();
        }
    }
}
