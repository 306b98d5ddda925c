package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jlama reads the file of a vocabulary of bytes. */
class ByteTokenizerTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @SuppressWarnings("NullAway.Init") // by the method below
    private ByteTokenizer tokenizer;

    @BeforeEach
    void read() throws IOException {
        Files.writeString(folder.resolve(ByteTokenizer.FILE), ByteTokenizer.json());
        tokenizer = new ByteTokenizer(folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "Once upon a time", " two  spaces \n\ttabs", "<0x41>", "Übermut, 日本, \uD83D\uDE00"})
    void shouldTakeAnyText(String text) {
        long[] tokens = tokenizer.encode(text);
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        long[] bytes = new long[utf8.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = Byte.toUnsignedLong(utf8[i]);
        }
        assertArrayEquals(bytes, tokens);
        assertEquals(text, tokenizer.decode(tokens));
    }

    @Test
    void shouldKnowEveryByteAndNoMore() {
        for (int token = 0; token < 128; token++) {
            assertEquals((char) token, tokenizer.decode(token).charAt(0));
        }
        assertEquals(256, tokenizer.getModel().vocabLookup.size());
        assertEquals("<0xFF>", tokenizer.getModel().vocabLookup.inverse().get(255L));
        assertThrows(IllegalArgumentException.class, () -> tokenizer.decode(256));
    }
}
