package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.testing.EngineRig;
import org.junit.jupiter.api.Test;

/** Over simulated cards, whose packets may be late. */
final class SimulatedLandingTest extends LandingTest {
    private RdmaRig simulated = new RdmaRig();

    @Override
    EngineRig newRig(RdmaConfig.Limits limits) {
        simulated = new RdmaRig(1, RdmaRig.config().withLimits(limits));
        return simulated;
    }

    @Override
    MessageBus bus() {
        return simulated.bus;
    }

    @Override
    Provider provider(String host) {
        return simulated.host(host);
    }

    /** Half of a WRITE lands before the grant is another's, the rest after that: the lane is in ERR by then, and takes nothing. */
    @Test
    void shouldNotTakeLatePacketsOfAVanishedWriterIntoTheNextOnesGrant() {
        restart(ONE_PIECE);
        RogueWriter gone = writer("gone");
        RogueWriter next = writer("next");
        Frames.Grant lost = gone.ask().granted();
        SimulatedTiming usual = SimulatedTiming.defaults();
        simulated.network.timing(new SimulatedTiming(usual.sampleNs(), 2 * LandingRegion.GRANT_NS, usual.completeNs(),
                64, usual.flushNs(), 0));
        gone.write(message('g', 60_000), lost.address(), lost.key()).post();
        rig.settle();
        simulated.network.timing(usual);
        simulated.network.cut("gone", "target");

        byte[] message = message('n', 60_000);
        next.ask();
        Frames.Grant granted = next.granted();
        assertEquals(lost.address(), granted.address());
        next.write(message, granted.address(), granted.key()).post().ended();
        rig.advance(LandingRegion.GRANT_NS * 9 / 10);
        next.seal(granted, message).post();

        assertDelivered("next:" + "n".repeat(60_000));
    }
}
