package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Cluster.Member;
import io.mooncake.core.base.Counter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Replays on real nodes, small. */
@Timeout(120)
class ReplayTest {
    private static final long BLOCK = 64 << 10;
    private static final long SEED = 11;

    private final StringWriter told = new StringWriter();
    private final ReplayStats stats = new ReplayStats(new PrintWriter(told, true));

    @ParameterizedTest
    // Every request fits into a node: of one that does not, which of its own blocks goes first depends on when each was announced.
    @CsvSource({"1, 30, 400, 30", "1, 300, 400, 30", "1, 8, 200, 6", "3, 30, 400, 30", "3, 200, 400, 30",
            "2, 12, 200, 12"})
    void shouldHitExactlyWhatAReferenceLruHits(int nodes, int capacity, int requests, int maxBlocks) {
        Trace trace = TraceGenerator.generate(SEED, requests, maxBlocks);
        ReferenceLru reference = new ReferenceLru(nodes, capacity);
        ReplayOptions options = new ReplayOptions(nodes, capacity, BLOCK, "lru", 0, 2, 0);
        String seed = "seed " + SEED;
        try (ReplayRun run = new ReplayRun(options, stats)) {
            for (int pass = 0; pass < 2; pass++) {
                long before = stats.hits();
                pass(run, trace);
                assertEquals(reference.hits(trace), stats.hits() - before, seed);
            }
            long local = stats.path(AccessPath.LOCAL_VIEW).count() + stats.path(AccessPath.LOCAL_COPY).count();
            assertEquals(reference.localHits(), local, seed);
            assertEquals(stats.hits() - local, stats.path(AccessPath.REMOTE_PULL).count(), seed);
            assertEquals(2 * trace.references(), stats.references());
            for (Member member : run.cluster().members()) {
                assertTrue(member.node().usage().used() <= capacity, () -> member.node().usage().toString());
                assertEquals(0, member.node().usage().quarantined());
            }
        }
        assertEquals("", told.toString());
    }

    @Test
    void shouldHitMoreTheMoreTheNodesAreTold() {
        Trace trace = TraceGenerator.generate(SEED, 600, 30);
        long lru = hits(trace, "lru", 0);
        long adaptive = hits(trace, "adaptive", 0);
        long some = hits(trace, "adaptive", 60);
        long all = hits(trace, "adaptive", ReplayOptions.ALL);
        String hits = "lru " + lru + ", adaptive " + adaptive + ", of 60 requests " + some + ", of all " + all;
        assertTrue(lru > 0 && adaptive >= 0.9 * lru && some > adaptive && all > some, hits);
        assertEquals("", told.toString());
    }

    private long hits(Trace trace, String policy, int lookAhead) {
        ReplayOptions options = new ReplayOptions(1, 150, BLOCK, policy, 0, 1, lookAhead);
        long before = stats.hits();
        try (ReplayRun run = new ReplayRun(options, stats)) {
            pass(run, trace);
        }
        return stats.hits() - before;
    }

    @Test
    void shouldReportBytesThatAreNotWhatTheVersionMustHave() {
        Trace trace = TraceGenerator.generate(SEED, 20, 8);
        try (ReplayRun run = new ReplayRun(new ReplayOptions(1, 1_000, BLOCK, "lru", 0, 2, 0), stats)) {
            pass(run, trace);
            assertEquals(0, stats.verificationErrors());
            overwrite(run.cluster().members().getFirst(), RequestServer.id(trace.requests().getFirst().hashId(0)));
            pass(run, trace);
        }
        assertEquals(1, stats.verificationErrors(), told::toString); // found, and written anew
        assertTrue(told.toString().contains("nobody wrote that version"), told::toString);
    }

    private static void overwrite(Member member, BlockId id) {
        try (BlockWriter writer = member.node().store().allocate(id, BLOCK)) {
            writer.segment().fill((byte) 1);
            writer.commit();
        }
    }

    @Test
    void shouldUseEveryPathAndWriteItAsJson(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("result.json");
        Path saved = folder.resolve("trace.jsonl");
        CliRun run = CliRun.of("replay", "--nodes", "3", "--capacity", "60", "--policy", "lru", "--requests", "300",
                "--max-blocks", "16",
                "--passes",
                "2", "--seed", "5", "--json", json.toString(), "--save-trace", saved.toString());
        assertEquals(Main.OK, run.exitCode(), run::err);
        String text = Files.readString(json);
        Trace trace = TraceReader.read(saved, Long.MAX_VALUE);
        ReferenceLru reference = new ReferenceLru(3, 60);
        long hits = reference.hits(trace) + reference.hits(trace);
        assertTrue(text.contains("\"requests\": 600,"), text);
        assertTrue(text.contains("\"references\": " + 2 * trace.references() + ","), text);
        assertTrue(text.contains("\"hits\": " + hits + ","), text);
        assertTrue(text.contains("\"hitRatio\": " + (double) hits / (2 * trace.references()) + ","), text);
        assertTrue(text.contains("\"verificationErrors\": 0,"), text);
        assertTrue(text.contains("\"failures\": 0,"), text);
        for (AccessPath path : AccessPath.values()) {
            assertTrue(text.contains("\"" + path.key() + "\": {"), text);
            assertEquals(!path.isOfTiers(),
                    run.out().lines().anyMatch(line -> line.strip().matches(path.label() + " +[1-9].*")), run::out);
        }
        assertTrue(text.contains("\"" + Counter.BYTES_PULLED + "\": "), text);
        assertTrue(run.out().contains("hit ratio 0."), run::out);
    }

    @Test
    void shouldReplayASavedTraceTheSameWay(@TempDir Path folder) {
        Path saved = folder.resolve("trace.jsonl");
        CliRun generated = CliRun.of("replay", "--nodes", "2", "--capacity", "50", "--policy", "lru", "--requests",
                "100",
                "--save-trace", saved.toString());
        CliRun read = CliRun.of("replay", "--nodes", "2", "--capacity", "50", "--policy", "lru", "--trace",
                saved.toString());
        assertEquals(Main.OK, read.exitCode(), read::err);
        assertEquals(generated.out().lines().findFirst(), read.out().lines().findFirst());
    }

    private void pass(ReplayRun run, Trace trace) {
        run.pass(trace, new Pace(0, System::nanoTime, ns -> {}),
                new Progress(new PrintWriter(new StringWriter()), false, () -> 0, 1, "requests"));
    }
}
