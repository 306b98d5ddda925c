package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Case C97: whichever call fails while an engine is made, the failure names it, and whatever was made is given back once (the simulated library
 * fails a test that gives something back twice). One that fails while lanes are connected costs that lane, and the read goes on.
 */
@Timeout(120)
final class C97_HalfMadeTest {
    private static final Map<String, String> NAMES = Map.of("openDevice", "ibv_open_device", "queryDevice",
            "ibv_query_device", "queryPort", "ibv_query_port", "allocPd", "ibv_alloc_pd", "createCompChannel",
            "ibv_create_comp_channel", "eventFd", "eventfd", "createCq", "ibv_create_cq", "regMr", "ibv_reg_mr");

    private static final long HALF_SECOND_NS = 500_000_000;

    /** One node's library fails. */
    private static final class Rig extends RdmaRig {
        private final Map<String, FailingProvider> failing = new HashMap<>();

        FailingProvider fail(String node, int call) {
            FailingProvider provider = new FailingProvider(host(node), call);
            failing.put(node, provider);
            return provider;
        }

        @Override
        protected TransferEngine engine(EngineContext context) {
            FailingProvider provider = failing.get(context.self().name());
            if (provider == null) {
                return super.engine(context);
            }
            bus.join(context);
            poolInto(context);
            return RdmaTransferEngine.create(context, config, provider.asProvider());
        }
    }

    @Test
    void shouldNameTheCallThatFailedAndLeaveNothingBehind() {
        Set<String> failed = new HashSet<>();
        boolean made = false;
        for (int call = 0; !made; call++) {
            // Closing it looks whether anything is left.
            try (Rig rig = new Rig()) {
                FailingProvider provider = rig.fail("owner", call);
                rig.poolOf("owner", rig.pattern(4096));
                try {
                    rig.side("owner");
                    made = provider.failed().isEmpty();
                    assertTrue(made, () -> provider.failed() + " failed and nobody cared");
                } catch (MooncakeException e) {
                    assertTrue(e.getMessage().contains(NAMES.get(provider.failed())),
                            () -> provider.failed() + ": " + e.getMessage());
                    failed.add(provider.failed());
                }
                assertEquals("", made ? "" : rig.host("owner").leftovers());
            }
        }
        assertEquals(NAMES.keySet(), failed, "each of them was the one");
    }

    @Test
    void shouldReadAllTheSameWhenAnyCallFailsAfterTheStart() {
        Set<String> failed = new HashSet<>();
        for (String node : Set.of("owner", "reader")) {
            boolean over = false;
            for (int call = 0; !over; call++) {
                try (Rig rig = new Rig()) {
                    FailingProvider provider = rig.fail(node, call + startCalls());
                    EngineRig.Side owner = rig.side(new NodeId("owner", 1000));
                    EngineRig.Side reader = rig.side(new NodeId("reader", 1000));
                    Region source = owner.register(rig.pattern(4096), Access.READABLE);
                    MemorySegment to = rig.filled(4096, EngineRig.FILL);
                    Region into = reader.own(to);
                    Reading reading = reader.read(owner, source, 0, 4096, into);
                    rig.until(reading::ended);
                    if (reading.status != ReadStatus.OK) {
                        // A region that could not be registered is refused for half a second.
                        assertEquals("regMr", provider.failed(), () -> reading.cause().getMessage());
                        rig.advance(HALF_SECOND_NS);
                        reader.submit(reading);
                        rig.until(reading::ended);
                    }
                    assertEquals(ReadStatus.OK, reading.status, () -> provider.failed() + ": " + reading.cause());
                    assertTrue(EngineRig.holdsPattern(to, 0, 4096, 0));
                    over = provider.failed().isEmpty();
                    failed.add(provider.failed());
                }
            }
        }
        assertTrue(failed.containsAll(Set.of("createQp", "modifyQp", "regMr")), failed::toString);
    }

    /** Calls that making an engine without a pool takes. */
    private static int startCalls() {
        for (int call = 0;; call++) {
            try (Rig rig = new Rig()) {
                FailingProvider provider = rig.fail("owner", call);
                try {
                    rig.side("owner");
                    if (provider.failed().isEmpty()) {
                        return call;
                    }
                } catch (MooncakeException expected) {
                    assertThrows(MooncakeException.class, () -> {
                        throw expected;
                    });
                }
            }
        }
    }
}
