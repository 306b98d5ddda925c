package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.rdma.RdmaSurvey.PortReport;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.sim.SimulatedNetwork;
import io.mooncake.rdma.sim.SimulatedProvider;
import io.mooncake.testing.VirtualTime;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Cases C94, C128, C129: what is there, what would be chosen and why, and what is wrong. */
class RdmaSurveyTest {

    private static final MemoryLock UNLIMITED = new MemoryLock(Long.MAX_VALUE);

    private final SimulatedProvider host = new SimulatedNetwork(new VirtualTime(), 1).host("h");

    private static RdmaConfig.Devices devices(@Nullable String gid, String... names) {
        return new RdmaConfig.Devices(List.of(names), 1, gid);
    }

    private RdmaSurvey survey(RdmaConfig.Devices wanted) {
        return RdmaSurvey.of(host, wanted, UNLIMITED);
    }

    @Test
    void shouldChooseEveryActivePortByItsRoutableAddress() {
        host.addDevice("sim0", 0x0A000007);
        host.addDevice("sim1", 0x0A000008);
        RdmaSurvey survey = survey(devices(null));
        assertTrue(survey.isUsable());
        assertEquals(List.of(), survey.problems());
        PortReport first = survey.ports().getFirst();
        assertEquals("sim0", first.device());
        assertTrue(first.isUsed());
        assertTrue(first.reason().contains("10.0.0.7 ROCE_V2: RoCE version 2, IPv4"), first::toString);
        assertEquals(List.of(), first.problems());
        assertTrue(survey.ports().get(1).isUsed());
        assertEquals("", host.leftovers(), "it only looks");
    }

    @Test
    void shouldSayWhyAPortIsNotUsed() {
        host.addDevice("sim0", 0x0A000007).portDown();
        host.addDevice("sim1", 0x0A000008);
        RdmaSurvey survey = survey(devices(null));
        PortReport down = survey.ports().getFirst();
        assertFalse(down.isUsed());
        assertEquals("its port is DOWN", down.reason());
        assertTrue(down.problems().getFirst().contains("ip link set"), down::toString);
        assertTrue(survey.isUsable(), "by the other");
        assertFalse(survey(devices(null, "sim0")).isUsable());
        assertEquals("rdma.devices names others", survey(devices(null, "sim0")).ports().get(1).reason());
        assertFalse(survey(devices("10.0.0.99", "sim1")).isUsable());
        assertTrue(survey(devices("10.0.0.99", "sim1")).ports().get(1).reason().contains("10.0.0.99"));
        assertEquals("rdma.port is 2", survey(new RdmaConfig.Devices(List.of(), 2, null)).ports().get(1).reason());
    }

    @Test
    void shouldNameADeviceThatIsNotThere() {
        host.addDevice("sim0", 0x0A000007);
        RdmaSurvey survey = survey(devices(null, "sim9"));
        assertFalse(survey.isUsable());
        assertTrue(survey.problems().getFirst().contains("sim9"), survey::toString);
    }

    @Test
    void shouldNameWhatIsWrongWithAnAddressThatWasAskedFor() {
        host.addDevice("sim0", 0x0A000007);
        List<String> problems = survey(devices("10.0.0.99")).ports().getFirst().problems();
        assertEquals(List.of("it has no GID 10.0.0.99: name one that it has, or leave it out to have one chosen"),
                problems);
    }

    @Test
    void shouldSayThatThereIsNone() {
        RdmaSurvey survey = survey(devices(null));
        assertFalse(survey.isUsable());
        assertTrue(survey.problems().getFirst().contains("/dev/infiniband"), survey::toString);
    }

    /** Case C136: virtual machines say -1, some say nothing, some name a node that is not there. */
    @Test
    void shouldUseACardWhoseNumaNodeIsUnknown() {
        List<String> said = List.of("-1", "", "7", "no number");
        for (int i = 0; i < said.size(); i++) {
            host.addDevice("sim" + i, 0x0A000007 + i).numaNode(said.get(i));
        }
        RdmaSurvey survey = survey(devices(null));
        assertEquals(List.of(-1, -1, 7, -1),
                survey.ports().stream().map(port -> port.place().numaNode()).toList());
        assertTrue(survey.ports().stream().allMatch(PortReport::isUsed), survey::toString);
    }

    @Test
    void shouldGoOnWithTheOthersWhenOneIsBroken() {
        SimulatedDevice broken = host.addDevice("sim0", 0x0A000007);
        host.addDevice("sim1", 0x0A000008);
        broken.fail();
        RdmaSurvey survey = survey(devices(null));
        assertTrue(survey.isUsable());
        assertEquals(1, survey.ports().size());
        assertTrue(survey.problems().getFirst().contains("sim0") && survey.problems().getFirst().contains("EIO"),
                survey::toString);
    }

    @Test
    void shouldWarnOfALimitThatNoPoolFits() {
        host.addDevice("sim0", 0x0A000007);
        RdmaSurvey survey = RdmaSurvey.of(host, devices(null), new MemoryLock(8 << 20));
        assertEquals(8 << 20, survey.lockableBytes());
        String problem = survey.problems().getFirst();
        assertTrue(problem.contains("8MiB") && problem.contains("ulimit -l"), problem);
    }

    @Test
    @Tag("rdma")
    void shouldFindTheDevicesOfThisMachine() {
        RdmaDevices.assume();
        RdmaSurvey survey = Rdma.survey(devices(null));
        assertTrue(survey.isUsable(), survey::toString);
    }
}
