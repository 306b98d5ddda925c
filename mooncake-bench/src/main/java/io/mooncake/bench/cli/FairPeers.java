package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One pulling node and several serving ones with one block each, all in this process. One thread.
 *
 * <p>With invokers that thread drives the pulling node and the serving ones of small blocks, which have little to do, and one other
 * thread those of large blocks: so two cores are enough for what is measured to be the poller's sharing and not the kernel's.
 */
final class FairPeers implements AutoCloseable {
    private static final TransferOptions OPTIONS = TransferOptions.DEFAULT.withTimeout(Duration.ofMinutes(10));

    private final Arena arena = Arena.ofShared();
    private final List<Server> beside = new ArrayList<>();
    private final @Nullable Elsewhere elsewhere;
    private final List<BlockRef> blocks = new ArrayList<>();
    private final boolean invoked;
    private final Node reader;
    private final Region region;

    /** A serving node and its block. */
    private record Server(Node node, BlockRef block) {}

    /**
     * Starts everything.
     *
     * @param engine by which the pulling node reaches the others
     * @param settings of all nodes
     * @param small bytes of the blocks of serving nodes that have little to do, one each
     * @param large bytes of the others' blocks
     */
    FairPeers(String engine, NodeSettings settings, List<Long> small, List<Long> large) {
        invoked = settings.threading() == ThreadingMode.INVOKER;
        // What the pulling node knows is how to dial the others; whatever else joins them it does not see.
        LocalRegistry serving = new LocalRegistry();
        LocalRegistry pulling = new LocalRegistry();
        elsewhere = large.isEmpty() ? null : new Elsewhere(() -> start(serving, settings, "busy", large), invoked);
        try {
            beside.addAll(start(serving, settings, "idle", small));
            List<Server> servers = new ArrayList<>(beside);
            if (elsewhere != null) {
                servers.addAll(elsewhere.servers());
            }
            for (Server server : servers) {
                pulling.withAddress(server.node.id().name(), engine, Served.address(server.node.addresses(), engine));
                blocks.add(server.block);
            }
            long longest = blocks.stream().mapToLong(BlockRef::length).max().orElseThrow();
            reader = start(NodeConfig.builder("reader").registry(pulling), settings, 1 << 20);
            region = reader.register(Memory.of(arena.allocate(longest, 4096)), Access.LOCAL_ONLY);
            blocks.forEach(block -> FirstPull.await(reader, block, this::join));
        } catch (RuntimeException | Error e) {
            closeServers();
            arena.close();
            throw e;
        }
    }

    private static List<Server> start(LocalRegistry registry, NodeSettings settings, String name, List<Long> lengths) {
        List<Server> servers = new ArrayList<>();
        for (long length : lengths) {
            Node node = start(NodeConfig.builder(name + "-" + servers.size()).registry(registry), settings, length);
            try (BlockWriter writer = node.store().allocate(BlockId.of("block of " + node.id().name()), length)) {
                writer.segment().fill((byte) 7);
                servers.add(new Server(node, writer.commit()));
            }
        }
        return servers;
    }

    private static Node start(NodeConfigBuilder builder, NodeSettings settings, long block) {
        return Node.start(settings.applyTo(builder.blockSize(block).poolSize(2 * block).spareSlots(1)).build());
    }

    private static int doWork(List<Server> servers) {
        int work = 0;
        for (int i = 0; i < servers.size(); i++) {
            work += servers.get(i).node.doWork();
        }
        return work;
    }

    private static void close(List<Server> servers) {
        servers.reversed().forEach(server -> server.node.close());
    }

    /** A pull of a serving node's whole block, those of small blocks first; all go to the same place, since nobody looks at what came. */
    Transfer prepare(int peer) {
        return reader.store()
                .prepare(List.of(Piece.of(blocks.get(peer), 0, Piece.WHOLE, Destination.at(region, 0))), OPTIONS);
    }

    /** Until a pull has ended. */
    Transfer.State join(Transfer pull) {
        while (invoked && !pull.isDone()) {
            if (doWork(beside) + reader.doWork() == 0) {
                Thread.onSpinWait();
            }
        }
        return pull.join();
    }

    @Override
    public void close() {
        region.close();
        reader.close();
        closeServers();
        arena.close();
    }

    private void closeServers() {
        close(beside);
        if (elsewhere != null) {
            elsewhere.close();
        }
    }

    /** Serving nodes of a thread of their own, which makes, drives and closes them. */
    private static final class Elsewhere implements AutoCloseable {
        private final CompletableFuture<List<Server>> servers = new CompletableFuture<>();
        private final CompletableFuture<Boolean> ended = new CompletableFuture<>();
        private final Thread thread;
        private volatile boolean closing;

        Elsewhere(Supplier<List<Server>> start, boolean invoked) {
            thread = Thread.ofPlatform().name("serving").start(() -> {
                try {
                    List<Server> started = start.get();
                    servers.complete(started);
                    serve(started, invoked);
                    FairPeers.close(started);
                    ended.complete(true);
                } catch (RuntimeException | Error e) {
                    servers.completeExceptionally(e);
                    ended.completeExceptionally(e);
                }
            });
        }

        private void serve(List<Server> started, boolean invoked) {
            while (!closing) {
                if (!invoked) {
                    LockSupport.park(this);
                } else if (doWork(started) == 0) {
                    Thread.onSpinWait();
                }
            }
        }

        List<Server> servers() {
            return servers.join();
        }

        /** Throws what failed while it served. */
        @Override
        public void close() {
            closing = true;
            LockSupport.unpark(thread);
            ended.join();
        }
    }
}
