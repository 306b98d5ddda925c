package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceReaderTest {
    private static final String GOOD = "{\"timestamp\": 7, \"input_length\": 900, \"output_length\": 12, \"hash_ids\": [0, 46, 9223372036854775807]}";

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Test
    void shouldReadWhatTheFormatSays() throws IOException {
        Trace trace = read(GOOD + "\n\n" + GOOD.replace("7,", "8,"), Long.MAX_VALUE);
        assertEquals(2, trace.requests().size());
        assertEquals(6, trace.references());
        assertEquals(7, trace.requests().getFirst().timestampMs());
        assertEquals(Long.MAX_VALUE, trace.requests().getFirst().hashId(2));
        assertEquals(GOOD, trace.requests().getFirst().toString());
    }

    @Test
    void shouldPassOverUnknownFieldsInAnyOrder() throws IOException {
        Trace trace = read(
                "{\"x\":{\"a\":[1,-2.5e3,{\"b\":null}],\"c\":\"}\\\"\"},\"hash_ids\":[],\"y\":true,\"timestamp\":0}\r\n",
                Long.MAX_VALUE);
        assertEquals(0, trace.references());
    }

    @Test
    void shouldStopAtTheLimitBeforeALaterLineIsBroken() throws IOException {
        assertEquals(1, read(GOOD + "\nbroken", 1).requests().size());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
            "broken                                              | '{' is expected (column 1)",
            "{\"timestamp\": 1                                   | ',' is expected",
            "{\"timestamp\": 1}                                  | field \"hash_ids\" is missing",
            "{\"hash_ids\": [1]}                                 | field \"timestamp\" is missing",
            "{\"timestamp\": -1, \"hash_ids\": [1]}              | field \"timestamp\" is negative: -1",
            "{\"timestamp\": 1, \"hash_ids\": [1, -5]}           | field \"hash_ids\" is negative: -5",
            "{\"timestamp\": 1, \"hash_ids\": [1.5]}             | field \"hash_ids\" must be an array of whole numbers",
            "{\"timestamp\": \"1\", \"hash_ids\": [1]}           | field \"timestamp\" must be a whole number",
            "{\"timestamp\": 9223372036854775808}                | passes 2^63",
            "{\"timestamp\": 1, \"hash_ids\": 5}                 | '[' is expected",
            "{\"timestamp\": 1, \"hash_ids\": [1 2]}             | ',' is expected",
            "{\"timestamp\": 1, \"hash_ids\": [1,]}              | must be an array of whole numbers",
            "{\"timestamp\": 1, \"hash_ids\": [1]} x             | text after the object",
            "{\"timestamp\": 1, \"z\": nope, \"hash_ids\": []}   | a value is expected",
            "{\"timestamp\": 1, \"z                              | a string does not end",
            "[1]                                                 | '{' is expected"})
    void shouldNameTheLineThatIsBroken(String line, String reason) {
        BadInputException e = assertThrows(BadInputException.class,
                () -> read(GOOD + "\n" + line.strip(), Long.MAX_VALUE));
        String message = String.valueOf(e.getMessage());
        assertTrue(message.contains("line 2: ") && message.contains(reason), message);
    }

    @Test
    void shouldRefuseNestingThatWouldExhaustTheStack() {
        BadInputException e = assertThrows(BadInputException.class,
                () -> read("{\"x\":" + "[".repeat(100_000), Long.MAX_VALUE));
        assertTrue(String.valueOf(e.getMessage()).contains("nested deeper"), e.getMessage());
    }

    @Test
    void shouldRefuseWhatIsNoText() throws IOException {
        Path file = folder.resolve("binary");
        Files.write(file, new byte[]{(byte) 0xff, (byte) 0xfe, 0, 1});
        BadInputException e = assertThrows(BadInputException.class, () -> TraceReader.read(file, 10));
        assertTrue(String.valueOf(e.getMessage()).contains("UTF-8"), e.getMessage());
    }

    @Test
    void shouldRefuseAnEmptyTrace() {
        BadInputException e = assertThrows(BadInputException.class, () -> read("\n \n", Long.MAX_VALUE));
        assertTrue(String.valueOf(e.getMessage()).contains("has no request"), e.getMessage());
    }

    private Trace read(String text, long limit) throws IOException {
        Path file = folder.resolve("trace.jsonl");
        Files.writeString(file, text);
        return TraceReader.read(file, limit);
    }
}
