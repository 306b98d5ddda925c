package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.transfer.Peer;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** Case C97: a start that fails half-way names what failed and leaves nothing behind. */
class NodeStartTest {
    private final List<MemorySegment> reserved = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    private final MemorySource memory = (bytes, alignment, arena) -> {
        MemorySegment segment = arena.allocate(bytes, alignment);
        reserved.add(segment);
        return segment;
    };

    private RuntimeException failing(UnaryOperator<NodeConfigBuilder> settings) {
        NodeConfig config = settings.apply(NodeConfig.builder("a")
                .blockSize(BLOCK)
                .poolSize(4 * BLOCK)
                .memory(memory)
                .threads(task -> {
                    threads.add(Thread.ofPlatform().daemon().unstarted(task));
                    return threads.getLast();
                })).build();
        // Once beforehand: what the JVM itself opens the first time stays open.
        assertThrows(RuntimeException.class, () -> Node.start(config));
        long before = descriptors();
        RuntimeException failure = assertThrows(RuntimeException.class, () -> Node.start(config));
        for (MemorySegment segment : reserved) {
            assertFalse(segment.scope().isAlive(), "the pool's memory is still mapped");
        }
        assertTrue(TestWaits.until(() -> threads.stream()
                .allMatch(thread -> thread.getState() == Thread.State.NEW
                        || thread.getState() == Thread.State.TERMINATED)));
        assertTrue(TestWaits.until(() -> descriptors() <= before), () -> descriptors() + " files open, not " + before);
        assertEquals(0, failure.getSuppressed().length, "what was begun could not be undone");
        return failure;
    }

    private static long descriptors() {
        String[] open = new File("/proc/self/fd").list();
        return open == null ? 0 : open.length;
    }

    @Test
    void memoryThatCannotBeReserved() {
        MooncakeException none = new MooncakeException(Kind.OUT_OF_MEMORY, "no memory");
        assertSame(none, failing(builder -> builder.memory((bytes, alignment, arena) -> {
            throw none;
        })));
    }

    @Test
    void anAddressThatCannotBeBound() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            MooncakeException failure = (MooncakeException) failing(
                    builder -> builder.bind(new Endpoint("127.0.0.1", taken.getLocalPort())));
            assertEquals(Kind.CONFIG_ERROR, failure.kind());
            assertTrue(failure.getMessage().contains("127.0.0.1:" + taken.getLocalPort()), failure::getMessage);
        }
        assertFalse(reserved.isEmpty(), "it failed before it had memory");
    }

    @Test
    void aNameThatIsTakenAndARegistryThatThrows() {
        LocalRegistry registry = new LocalRegistry();
        Peer other = new Peer(new NodeId("a", 1), Map.of());
        registry.join(other);
        MooncakeException failure = (MooncakeException) failing(builder -> builder.registry(registry));
        assertEquals(Kind.IN_USE, failure.kind());
        assertEquals(List.of(other), registry.nodes(), "the one who was there stays");
        Registry broken = (Registry) Proxy.newProxyInstance(Registry.class.getClassLoader(),
                new Class<?>[]{Registry.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("join")) {
                        throw new IllegalStateException("no network");
                    }
                    return method.invoke(registry, arguments);
                });
        assertEquals("no network", failing(builder -> builder.registry(broken)).getMessage());
    }

    @Test
    void enginesThatCannotBeMade() {
        assertEquals("no device", failing(builder -> builder.engines(context -> {
            throw new IllegalStateException("no device");
        })).getMessage());
        assertFalse(reserved.isEmpty(), "it failed before it had memory");
    }
}
