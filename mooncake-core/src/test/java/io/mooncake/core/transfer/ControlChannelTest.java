package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ControlChannelTest {
    private static final NodeId SENDER = new NodeId("sender", 1);

    private final Counters counters = new Counters();
    private final ControlChannel channel = new ControlChannel(counters);

    @Test
    void shouldHandEachTopicToItsHandler() {
        List<String> taken = new ArrayList<>();
        channel.onMessage(Topic.REGISTRY, (from, message) -> taken.add("registry " + from.name() + message.length));
        channel.onMessage(Topic.LANES, (from, message) -> taken.add("lanes " + from.name() + message.length));

        channel.deliver(Topic.LANES.number(), SENDER, new byte[2]);
        channel.deliver(Topic.REGISTRY.number(), SENDER, new byte[3]);

        assertEquals(List.of("lanes sender2", "registry sender3"), taken);
        assertEquals(0, counters.get(Counter.MESSAGES_DROPPED));
    }

    @Test
    void shouldCountWhatNobodyTakes() {
        channel.deliver(Topic.LANES.number(), SENDER, new byte[0]);
        for (long later : new long[]{3, -1, 1L << 32, Long.MIN_VALUE, Long.MAX_VALUE}) {
            channel.deliver(later, SENDER, new byte[0]);
        }
        assertEquals(6, counters.get(Counter.MESSAGES_DROPPED));
    }

    @Test
    void shouldRefuseASecondHandler() {
        channel.onMessage(Topic.LANES, (from, message) -> {});
        MooncakeException second = assertThrows(MooncakeException.class,
                () -> channel.onMessage(Topic.LANES, (from, message) -> {}));
        assertEquals(Kind.IN_USE, second.kind());
    }

    @Test
    void shouldFindEachTopicByItsNumber() {
        for (Topic topic : Topic.values()) {
            assertEquals(topic, Topic.of(topic.number()));
        }
        assertNull(Topic.of(Topic.values().length));
    }

    @Test
    void shouldSayWhenThereIsNoWay() {
        assertFalse(channel.send(SENDER, Topic.LANES, ByteBuffer.allocate(1)), "nothing carries it yet");
        channel.carriedBy(id -> null, List.of());
        assertFalse(channel.send(SENDER, Topic.LANES, ByteBuffer.allocate(1)), "an unknown node");
        channel.carriedBy(id -> new Peer(id, Map.of()), List.of());
        assertFalse(channel.send(SENDER, Topic.LANES, ByteBuffer.allocate(1)), "no engine");
        MooncakeException longer = assertThrows(MooncakeException.class,
                () -> channel.send(SENDER, Topic.LANES, ByteBuffer.allocate(EngineContext.MAX_MESSAGE_BYTES + 1)));
        assertEquals(Kind.OUT_OF_BOUNDS, longer.kind());
    }

    @Test
    void shouldCarryAnAddedEnginesMessagesBetweenNodes() throws Exception {
        LocalRegistry registry = new LocalRegistry();
        CompletableFuture<byte[]> came = new CompletableFuture<>();
        List<EngineContext> contexts = new ArrayList<>();
        try (Node a = Node.start(config("a", registry, contexts));
                Node b = Node.start(config("b", registry, contexts))) {
            contexts.get(1).control().onMessage(Topic.LANES, (from, message) -> came.complete(message));
            assertTrue(contexts.get(0).control().send(b.id(), Topic.LANES, ByteBuffer.wrap(new byte[]{4, 2})));
            assertArrayEquals(new byte[]{4, 2}, came.get(30, TimeUnit.SECONDS));
            assertEquals(a.id(), contexts.get(0).self());
        }
    }

    @Test
    void shouldRefuseAddedEnginesBesideOthersOfOnesOwn() {
        MooncakeException both = assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a")
                        .engines(context -> List.of(new LocalTransferEngine(context)))
                        .addEngine(context -> new LocalTransferEngine(context))
                        .build());
        assertEquals(Kind.CONFIG_ERROR, both.kind());
    }

    private static NodeConfig config(String name, LocalRegistry registry, List<EngineContext> contexts) {
        return NodeConfig.builder(name)
                .registry(registry)
                .blockSize(1 << 20)
                .poolSize(4 << 20)
                .addEngine(context -> {
                    contexts.add(context);
                    return new LocalTransferEngine(context);
                })
                .build();
    }
}
