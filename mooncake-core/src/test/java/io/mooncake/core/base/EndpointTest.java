package io.mooncake.core.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Case C84: address text. */
final class EndpointTest {
    @ParameterizedTest
    @CsvSource({"[::1]:9000, ::1, 9000", "::1, ::1, 7", "2001:db8::1, 2001:db8::1, 7", "[2001:db8::1], 2001:db8::1, 7",
            "h:9000, h, 9000", "h, h, 7", "fe80::1%lo, fe80::1%lo, 7", "[fe80::1%lo]:1, fe80::1%lo, 1", "h:0, h, 0",
            "h:65535, h, 65535",
            "127.0.0.1:80, 127.0.0.1, 80"})
    void c84_parsesAndPrints(String text, String host, int port) {
        Endpoint endpoint = Endpoint.parse(text, 7);
        assertEquals(new Endpoint(host, port), endpoint);
        assertEquals(endpoint, Endpoint.parse(endpoint.toString(), 1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[::1", "h:", ":9000", "h:99999", "h:-1", "h:+1", "h:x", "h:655360", "[::1]x", "[::1]:",
            "[h]:1", "[]", "", " ", "h]:1",
            ":"})
    void c84_refuses(String text) {
        MooncakeException e = assertThrows(MooncakeException.class, () -> Endpoint.parse(text, 7));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(String.valueOf(e.getMessage()).contains("write host:port or [ipv6]:port"), e.getMessage());
    }

    @Test
    void shouldCheckItsParts() {
        assertThrows(MooncakeException.class, () -> new Endpoint("h", -1));
        assertThrows(MooncakeException.class, () -> new Endpoint("h", 65536));
        assertThrows(MooncakeException.class, () -> new Endpoint("[::1]", 1));
    }
}
