package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole nodes that pull from each other over a device of this machine, with their own threads. */
@Tag("rdma")
@Timeout(300)
@SuppressWarnings("NullAway.Init") // Each test starts its nodes first.
final class NodesOnDeviceTest {
    private static final int BYTES = 3_000_000;

    private final Arena arena = Arena.ofShared();
    private final LocalRegistry registry = new LocalRegistry();
    private Node owner;
    private Node reader;
    private Region into;
    private MemorySegment memory;
    private BlockRef block;

    private void start(ThreadingMode threading) {
        owner = node("owner", threading);
        reader = node("reader", threading);
        memory = arena.allocate(BYTES, 64);
        into = reader.register(Memory.of(memory), Access.LOCAL_ONLY);
        try (BlockWriter writer = owner.store().allocate(BlockId.of("block"), BYTES)) {
            EngineRig.fillWithPattern(writer.segment());
            block = writer.commit();
        }
    }

    private Node node(String name, ThreadingMode threading) {
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .blockSize(4 << 20)
                .poolSize(8 << 20)
                .sharedMemory("off")
                .threading(threading)
                .addEngine(context -> RdmaTransferEngine.create(context, RdmaConfig.defaults()))
                .build());
    }

    @AfterEach
    void close() {
        if (reader != null) {
            into.close();
            reader.close();
            owner.close();
        }
        arena.close();
    }

    private Transfer pull(TransferOptions options) {
        memory.fill((byte) 0);
        return reader.store()
                .prepare(List.of(Piece.of(block, 0, Piece.WHOLE, Destination.at(into, 0))), options)
                .submit();
    }

    /** The first pull makes the connection, for which an emulated machine with much to do may need longer than a node grants. */
    private void connect() {
        Transfer transfer = pull(TransferOptions.DEFAULT);
        for (int i = 0; i < 10 && transfer.join() == Transfer.State.FAILED; i++) {
            assertEquals(Outcome.UNREACHABLE, transfer.outcome(0), cause(transfer));
            transfer = pull(TransferOptions.DEFAULT);
        }
        assertEquals(Transfer.State.COMPLETED, transfer.join(), cause(transfer));
    }

    private static Supplier<String> cause(Transfer transfer) {
        return () -> transfer + ": " + transfer.cause(0);
    }

    @ParameterizedTest
    @EnumSource(value = ThreadingMode.class, mode = EnumSource.Mode.EXCLUDE, names = "INVOKER")
    void shouldPullByRdma(ThreadingMode threading) {
        RdmaDevices.assume();
        start(threading);
        connect();
        long before = owner.counters().get(Counter.READS_SERVED);
        // What TCP reads its owner serves; RDMA asks nobody. Until the keys are known, TCP is the only way.
        for (int i = 0; i < 20 || owner.counters().get(Counter.READS_SERVED) - before == i; i++) {
            Transfer transfer = pull(TransferOptions.DEFAULT);
            assertEquals(Transfer.State.COMPLETED, transfer.join(), cause(transfer));
            assertTrue(EngineRig.holdsPattern(memory, 0, BYTES, 0));
        }
    }

    /** Case C133: what a callback throws costs nobody else anything. */
    @Test
    void shouldGoOnWhateverACallbackThrows() throws Exception {
        RdmaDevices.assume();
        start(ThreadingMode.SHARED);
        connect();
        List<Throwable> thrown = List.of(new IllegalStateException("thrown by a test"),
                new AssertionError("thrown by a test"), new StackOverflowError("thrown by a test"));
        for (Throwable what : thrown) {
            Transfer transfer = pull(
                    TransferOptions.DEFAULT.withCallback(done -> NodesOnDeviceTest.<Error>sneak(what)));
            assertEquals(Transfer.State.COMPLETED, transfer.join(), cause(transfer));
            CompletableFuture<Transfer.State> later = new CompletableFuture<>();
            pull(TransferOptions.DEFAULT.withCallback(done -> later.complete(done.state())));
            assertEquals(Transfer.State.COMPLETED, later.get(60, TimeUnit.SECONDS));
            assertTrue(EngineRig.holdsPattern(memory, 0, BYTES, 0));
        }
        assertFalse(reader.nodes().isEmpty());
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> void sneak(Throwable what) throws T {
        throw (T) what;
    }
}
