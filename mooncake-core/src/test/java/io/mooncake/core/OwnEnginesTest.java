package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node that is given its engines. */
class OwnEnginesTest {

    @Test
    void readsGoThroughTheGivenEnginesAndNoOthers() {
        try (TestNodes nodes = new TestNodes()) {
            List<TransferEngine> made = new ArrayList<>();
            Node a = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER).engines(context -> {
                made.add(new LocalTransferEngine(context));
                return made;
            }));
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
            BlockRef here = TestNodes.write(a, BlockId.of("here"), TestNodes.BLOCK, 7);
            BlockRef there = TestNodes.write(b, BlockId.of("there"), TestNodes.BLOCK, 8);
            Region region = nodes.region(a, TestNodes.BLOCK);
            assertEquals(1, made.size());
            assertTrue(a.endpoint().isEmpty(), "nothing listens");
            assertEquals(Outcome.OK, a.store().read(here, region, 0));
            assertEquals(Outcome.UNREACHABLE, a.store().read(there, region, 0));
        }
    }

    /** A thread that is shared parks in TCP's selector: an added engine is told how that is woken, as those of the node's own are. */
    @ParameterizedTest
    @EnumSource(ThreadingMode.class)
    void addedEnginesKnowHowTheirThreadIsWoken(ThreadingMode threading) {
        try (TestNodes nodes = new TestNodes()) {
            List<EngineContext> given = new ArrayList<>();
            nodes.start("a", builder -> builder.threading(threading).addEngine(context -> {
                given.add(context);
                return null;
            }));
            Runnable wakeup = given.getFirst().wakeup();
            assertEquals(threading == ThreadingMode.DEDICATED, wakeup == null);
            if (wakeup != null) {
                wakeup.run();
            }
        }
    }

    @Test
    void noEngineAtAllIsAConfigurationError() {
        try (TestNodes nodes = new TestNodes()) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> nodes.start("a", builder -> builder.engines(context -> List.of())));
            assertEquals(Kind.CONFIG_ERROR, e.kind());
        }
    }
}
