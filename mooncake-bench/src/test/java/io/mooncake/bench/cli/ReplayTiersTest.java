package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code replay --tiers}, in small. */
@Timeout(600)
final class ReplayTiersTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private String run(String... more) throws IOException {
        Path json = folder.resolve("figures.json");
        String[] args = new String[more.length + 9];
        System.arraycopy(new String[]{"replay", "--capacity", "40", "--requests", "160", "--max-blocks", "20", "--json",
                json.toString()}, 0, args, 0, 9);
        System.arraycopy(more, 0, args, 9, more.length);
        CliRun run = CliRun.of(args);
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        String text = Files.readString(json);
        assertTrue(text.contains("\"verificationErrors\": 0") && text.contains("\"failures\": 0"), text);
        return text;
    }

    private static long number(String text, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\": (\\d+)").matcher(text);
        long last = -1;
        while (matcher.find()) {
            last = Math.max(last, Long.parseLong(matcher.group(1)));
        }
        assertTrue(last >= 0, () -> name + " is not in " + text);
        return last;
    }

    @Test
    void shouldHitMoreWithFilesThanWithout() throws IOException {
        String without = run("--nodes", "4");
        String with = run("--nodes", "4", "--tiers", "--file-capacity", "300");
        assertTrue(number(with, "hits") > number(without, "hits"), with);
        assertTrue(number(with, "LOCAL_FILE") > 0 && number(with, "REMOTE_FILE") > 0, with);
        assertEquals(0, number(with, "DEMOTIONS_FAILED"), with);
    }

    @Test
    void shouldFindInTheFilesWhatWasThereBeforeAllProcessesWereKilled() throws IOException {
        String text = run("--processes", "3", "--tiers", "--file-capacity", "300", "--passes", "2", "--restart");
        assertTrue(number(text, "BLOCKS_RECOVERED") > 0, text);
        assertEquals(0, number(text, "BLOCKS_DAMAGED"), text);
        // What was told last is of the pass after the restart.
        String after = text.substring(text.lastIndexOf("LOCAL_VIEW"));
        assertTrue(number(after, "LOCAL_FILE") > 0 && number(after, "REMOTE_FILE") > 0, text);
    }

    @Test
    void shouldRefuseOptionsThatNeedOthers() {
        for (String[] wrong : new String[][]{{"--restart"}, {"--file-capacity", "9"},
                {"--tiers", "--restart", "--processes", "2"}, {"--tiers", "--file-capacity", "0"}}) {
            String[] args = new String[wrong.length + 1];
            args[0] = "replay";
            System.arraycopy(wrong, 0, args, 1, wrong.length);
            CliRun run = CliRun.of(args);
            assertEquals(Main.BAD_INPUT, run.exitCode(), run::out);
        }
    }
}
