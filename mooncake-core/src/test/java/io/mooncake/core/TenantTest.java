package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.block.Tier;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tenants, told apart by the salt of their chains: what each keeps, and how all of one goes. */
@Timeout(120)
final class TenantTest {
    private static final Layout LAYOUT = new Layout(2, 2, 4, 256, "bf16");

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Of 16 slots, one of them spare. */
    private Node start(UnaryOperator<NodeConfigBuilder> settings) {
        return nodes.start("a", builder -> settings.apply(builder.evictionPolicy("lru")));
    }

    private static BlockId id(String salt, int number) {
        return new PrefixChain("m", LAYOUT, "e", salt).first(number);
    }

    private static void write(Node node, String salt, int from, int until) {
        for (int i = from; i < until; i++) {
            TestNodes.write(node, id(salt, i), BLOCK, i);
        }
    }

    private static long inMemory(Node node, String salt, int from, int until) {
        return IntStream.range(from, until).filter(i -> isInMemory(node, id(salt, i))).count();
    }

    private static boolean isInMemory(Node node, BlockId id) {
        try (BlockView view = node.store().newView()) {
            return node.store().acquire(id, view);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"lru", "adaptive", "s3fifo"})
    void shouldNeverEvictATenantBelowItsShareForAnother(String policy) {
        Node node = start(builder -> builder.share("a", 0.5).share("b", 0.2).evictionPolicy(policy));
        write(node, "a", 0, 12);
        assertEquals(12, inMemory(node, "a", 0, 12), "what nobody needs anybody may have");
        write(node, "c", 0, 40);
        // Half of the 15 that are kept, in whole blocks.
        assertEquals(7, inMemory(node, "a", 0, 12));
        assertEquals(8, inMemory(node, "c", 0, 40));
        write(node, "b", 0, 3);
        write(node, "c", 40, 80);
        assertEquals(7, inMemory(node, "a", 0, 12));
        assertEquals(3, inMemory(node, "b", 0, 3));
        assertEquals(5, inMemory(node, "c", 0, 80));
        // Its own it may evict, and what others have above their shares.
        write(node, "a", 100, 140);
        assertEquals(12, inMemory(node, "a", 0, 12) + inMemory(node, "a", 100, 140));
        assertEquals(3, inMemory(node, "b", 0, 3));
        assertEquals(0, inMemory(node, "c", 0, 80));
    }

    @Test
    void shouldLetATenantTakeOfItsOwnWhereAllHaveNoMoreThanTheirShares() {
        Node node = start(builder -> builder.share("a", 0.5).share("b", 0.5));
        write(node, "a", 0, 7);
        write(node, "b", 0, 8);
        write(node, "b", 100, 130);
        assertEquals(7, inMemory(node, "a", 0, 7));
        assertEquals(8, inMemory(node, "b", 0, 8) + inMemory(node, "b", 100, 130));
    }

    @Test
    void shouldRatherKeepNothingThanTakeOfAnothersShare() {
        Node node = start(builder -> builder.share("a", 0.9).allocateTimeout(Duration.ofMillis(200)));
        write(node, "a", 0, 13);
        write(node, "c", 0, 2);
        try (Hold held = node.mover().pin(List.of(id("c", 0), id("c", 1)), Tier.DRAM, TestNodes.LONG)) {
            assertEquals(2, held.refs().size());
            TestNodes.write(node, id("c", 2), BLOCK, 2);
            // The spare slot is written; what is above the watermark is the one just written.
            for (int i = 3; i < 6; i++) {
                TestNodes.write(node, id("c", i), BLOCK, i);
            }
            assertEquals(13, inMemory(node, "a", 0, 13));
        }
    }

    @Test
    void shouldKeepSharesOfTheFileToo(@TempDir Path directory) {
        Node node = start(builder -> builder.share("a", 0.5).fileTier(directory, 16 * BLOCK));
        write(node, "a", 0, 7);
        node.mover().demote(IntStream.range(0, 7).mapToObj(i -> id("a", i)).toList(), TransferOptions.DEFAULT).join();
        write(node, "c", 0, 80);
        node.mover()
                .demote(IntStream.range(70, 80).mapToObj(i -> id("c", i)).toList(), TransferOptions.DEFAULT)
                .join();
        try (Hold all = node.mover()
                .pin(IntStream.range(0, 7).mapToObj(i -> id("a", i)).toList(), Tier.SLOW, TestNodes.LONG)) {
            assertEquals(7, all.refs().size());
        }
    }

    @Test
    void shouldResetOneTenantInEveryTierAndForGood(@TempDir Path directory) {
        Node node = start(builder -> builder.fileTier(directory, 64 * BLOCK));
        write(node, "a", 0, 5);
        write(node, "b", 0, 4);
        TestNodes.write(node, BlockId.of("a"), BLOCK, 1);
        List<BlockId> down = List.of(id("a", 0), id("a", 1), id("b", 0));
        node.mover().demote(down, TransferOptions.DEFAULT).join();
        assertEquals(5, node.store().reset("a"));
        assertEquals(0, node.store().reset("a"));
        TestNodes.announced(node);
        assertEquals(1, node.usage(Tier.SLOW).used());
        assertEquals(3, inMemory(node, "b", 1, 4));
        assertTrue(node.store().locations(id("a", 3)).isEmpty());
        assertEquals(1, node.store().evict(List.of(BlockId.of("a"))));
        assertEquals(Kind.INVALID_ARGUMENT,
                assertThrows(MooncakeException.class, () -> node.store().reset("")).kind());
        node.close();
        Node again = nodes.start("a2", builder -> builder.fileTier(directory, 64 * BLOCK));
        assertEquals(0, again.store().reset("a"));
        assertEquals(1, again.store().reset("b"), "that a block is a tenant's is known after a restart, too");
    }

    @Test
    void shouldRefuseSharesThatCannotBe() {
        for (String shares : List.of("a:0.7,b:0.4", "a:-1", "a", ":0.5", "a:x", "a:0")) {
            assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class,
                    () -> NodeConfig.builder("a").set("tenant.shares", shares).build(), shares).kind(), shares);
        }
        assertEquals(0.25,
                NodeConfig.builder("a").set("tenant.shares", "a:0.5, b:0.25").build().pool().shares().get("b"));
    }
}
