package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.rdma.Rdma;
import io.mooncake.rdma.RdmaSurvey;
import io.mooncake.rdma.RdmaSurvey.Link;
import io.mooncake.rdma.RdmaSurvey.Place;
import io.mooncake.rdma.RdmaSurvey.PortReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DevicesCommandTest {

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private static String printed(RdmaSurvey survey) {
        StringWriter text = new StringWriter();
        DevicesCommand.print(survey, new PrintWriter(text));
        return text.toString();
    }

    @Test
    void shouldShowWhatIsThereAndWhatIsWrong() {
        PortReport good = new PortReport("mlx5_0", new Place("0000:3b:00.0", 1, "28.39"),
                new Link(1, "ACTIVE", true, 4096, 400_000), List.of("GID 3 10.0.0.7 ROCE_V2"), 3, true,
                "GID 3 10.0.0.7 ROCE_V2: RoCE version 2, IPv4", List.of());
        PortReport bad = new PortReport("rxe0", new Place("", -1, "0"), new Link(1, "DOWN", true, 1024, 0), List.of(),
                -1,
                false, "its port is DOWN", List.of("the port is DOWN: bring it up"));
        String text = printed(new RdmaSurvey(List.of(good, bad), 8L << 20, List.of("too little memory may be locked")));
        assertEquals(
                """
                        memory that may be locked: 8MiB
                        mlx5_0 port 1: ACTIVE, Ethernet, packets of 4096 bytes, 400.0 Gbit/s, PCI 0000:3b:00.0, NUMA node 1, firmware 28.39
                          used: GID 3 10.0.0.7 ROCE_V2: RoCE version 2, IPv4
                          GID 3 10.0.0.7 ROCE_V2
                        rxe0 port 1: DOWN, Ethernet, packets of 1024 bytes, firmware 0
                          not used: its port is DOWN
                          PROBLEM: the port is DOWN: bring it up
                        PROBLEM: too little memory may be locked
                        a node can use RDMA here
                        """,
                text);
        assertTrue(printed(new RdmaSurvey(List.of(bad), Long.MAX_VALUE, List.of())).contains("unlimited"));
        assertTrue(printed(new RdmaSurvey(List.of(bad), 0, List.of())).endsWith("a node cannot use RDMA here\n"));
    }

    @Test
    void shouldTellByItsExitCodeWhetherANodeCanUseRdma() throws IOException {
        Path json = folder.resolve("devices.json");
        CliRun run = CliRun.of("devices", "--json", json.toString());
        assertEquals("", run.err());
        assertEquals(Rdma.isAvailable(), run.out().contains(" port 1: "), run::out);
        assertEquals(run.out().contains("can use RDMA here") ? Main.OK : Main.FAILED, run.exitCode(), run::out);
        assertTrue(Rdma.isAvailable() || run.out().contains("PROBLEM: "), run::out);
        assertTrue(Files.readString(json).contains("\"usable\": " + (run.exitCode() == Main.OK)));
    }
}
