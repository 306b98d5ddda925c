package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.bench.cli.PrefixRun.Settings;
import io.mooncake.bench.cli.PrefixRun.Turn;
import io.mooncake.bench.engine.Engine;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.bench.engine.FirstToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Conversations of several turns. */
@Timeout(120)
class PrefixCommandTest {
    private static final int BLOCK_TOKENS = 4;
    private static final Settings SETTINGS = new Settings(2, 3, 2 * BLOCK_TOKENS, BLOCK_TOKENS + 1, BLOCK_TOKENS, 9);

    @ParameterizedTest
    @CsvSource({"MINI, 1", "MINI, 2", "LLAMACPP, 2"})
    void shouldComputeOnlyWhatATurnAdds(Kind kind, int nodes) {
        EngineChoice choice = new EngineChoice(kind, Model.TINY, BLOCK_TOKENS, 9);
        assumeTrue(choice.failure() == null, choice::failure);
        try (Engine engine = choice.create();
                PrefixRun run = new PrefixRun(SETTINGS, nodes, engine)) {
            int known = 0;
            for (int turn = 0; turn < SETTINGS.turns(); turn++) {
                for (int conversation = 0; conversation < SETTINGS.conversations(); conversation++) {
                    Turn one = run.turn(conversation, turn);
                    assertEquals(0, one.alone().distance(one.shared()), "distance of the logits");
                    FirstToken first = one.firstToken();
                    // The first conversation's first turn knows nothing; the second one's knows what all of them begin with.
                    int before = turn == 0 ? conversation * SETTINGS.system() / BLOCK_TOKENS : known / BLOCK_TOKENS;
                    assertEquals(before, first.here() + first.pulled(), "turn " + turn + " of " + conversation);
                    assertEquals((one.tokens() - 1) / BLOCK_TOKENS - before, first.computed());
                    assertEquals(nodes > 1 && before > 0, first.pulled() > 0, () -> first.toString());
                }
                known = SETTINGS.system() + (turn + 1) * (SETTINGS.user() + SETTINGS.generate());
            }
        }
    }

    @Test
    void shouldShowTheHitsByTurn(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("prefix", "--model", "tiny", "--conversations", "2", "--turns", "2", "--json",
                json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        assertTrue(run.out().contains("on 1 node\n") && run.out().contains("on 2 nodes\n"), run::out);
        assertTrue(Files.readString(json).contains("\"equal\": true"), run::out);
    }
}
