package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Trace.Request;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceGeneratorTest {
    @Test
    void shouldMakeEqualTracesOfEqualSeeds() {
        String one = TraceGenerator.generate(42, 500, 64).requests().toString();
        assertEquals(one, TraceGenerator.generate(42, 500, 64).requests().toString());
        assertNotEquals(one, TraceGenerator.generate(43, 500, 64).requests().toString());
    }

    @Test
    void shouldComeBackFromItsFileAsItWas(@TempDir Path folder) throws IOException {
        Trace made = TraceGenerator.generate(42, 500, 64);
        Path file = folder.resolve("trace.jsonl");
        made.write(file);
        assertEquals(500, Files.readAllLines(file).size());
        Trace read = TraceReader.read(file, Long.MAX_VALUE);
        assertEquals(made.requests().toString(), read.requests().toString());
        assertEquals(made.references(), read.references());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8, 64})
    void shouldKeepToTheMostBlocksAndArriveInOrder(int maxBlocks) {
        long lastMs = 0;
        for (Request request : TraceGenerator.generate(7, 2_000, maxBlocks).requests()) {
            assertTrue(request.blocks() >= 1 && request.blocks() <= maxBlocks, request::toString);
            assertTrue(request.timestampMs() >= lastMs, request::toString);
            lastMs = request.timestampMs();
        }
    }

    @Test
    void shouldSharePrefixesAsChatsDo() {
        ReferenceLru unbounded = new ReferenceLru(1, Integer.MAX_VALUE);
        Trace trace = TraceGenerator.generate(7, 2_000, 64);
        double ratio = (double) unbounded.hits(trace) / trace.references();
        assertTrue(ratio > 0.3 && ratio < 0.9, () -> "hit ratio " + ratio);
    }
}
