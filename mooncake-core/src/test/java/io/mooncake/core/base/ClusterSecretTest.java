package io.mooncake.core.base;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ClusterSecretTest {
    private static byte[] code(ClusterSecret secret) {
        return secret.hmacSha256(ByteBuffer.wrap("Hi There".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void shouldComputeTheCodesOfTheStandard() {
        // RFC 4231's keys are printed in hexadecimal, so this one is by: printf 'Hi There' | openssl dgst -sha256 -hmac ...
        byte[] code = code(ClusterSecret.of("0123456789abcdef"));
        assertEquals("158c003136e2dd83b253c011902a1f6403c7ac22f0292a999a60674cb59e2849",
                HexFormat.of().formatHex(code));
        assertArrayEquals(code, code(ClusterSecret.of(" 0123456789abcdef\n")), "white space");
        assertFalse(Arrays.equals(code, code(ClusterSecret.of("0123456789abcdeg"))));
    }

    @Test
    void shouldReadAFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("secret"), "0123456789abcdef\n");
        assertArrayEquals(code(ClusterSecret.of("0123456789abcdef")),
                code(ClusterSecret.fromFile(file)));
        MooncakeException missing = assertThrows(MooncakeException.class,
                () -> ClusterSecret.fromFile(folder.resolve("none")));
        assertEquals(Kind.CONFIG_ERROR, missing.kind());
        assertTrue(String.valueOf(missing.getMessage()).contains("none"), missing.getMessage());
    }

    @Test
    void shouldShowItselfToNobody() {
        String text = "too-short-secret".substring(1);
        MooncakeException e = assertThrows(MooncakeException.class, () -> ClusterSecret.of(text));
        assertTrue(String.valueOf(e.getMessage()).contains("15 bytes, must be 16"), e.getMessage());
        assertFalse(String.valueOf(e.getMessage()).contains(text), e.getMessage());
        assertThrows(MooncakeException.class, () -> ClusterSecret.of("x".repeat(5000)));
        assertEquals("(secret)", ClusterSecret.of("0123456789abcdef").toString());
    }
}
