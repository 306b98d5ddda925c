package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;

/**
 * Where a socket listens or dials: a host and a port, as text that reads back the same. Immutable; nothing is resolved here.
 *
 * @param host a name, an IPv4 address, or an IPv6 address without brackets and perhaps with a scope ({@code fe80::1%lo})
 * @param port 0 to 65535; 0 = any free one, only for binding
 */
public record Endpoint(String host, int port) {
    /**
     * Checks both parts.
     *
     * @throws MooncakeException CONFIG_ERROR
     */
    public Endpoint {
        if (host.isBlank() || host.indexOf('[') >= 0 || host.indexOf(']') >= 0 || port < 0 || port > 65535) {
            throw bad(host + ":" + port, "needs a host and a port from 0 to 65535");
        }
    }

    /**
     * Reads {@code host}, {@code host:port}, {@code ::1}, {@code [::1]} or {@code [::1]:port}.
     *
     * @param text the address
     * @param defaultPort used where the text has none
     * @return the endpoint
     * @throws MooncakeException CONFIG_ERROR naming the text
     */
    public static Endpoint parse(String text, int defaultPort) {
        if (text.startsWith("[")) {
            int close = text.indexOf(']');
            if (close < 0) {
                throw bad(text, "has no closing bracket");
            }
            String rest = text.substring(close + 1);
            if (!rest.isEmpty() && !rest.startsWith(":")) {
                throw bad(text, "has something other than :port after the bracket");
            }
            String host = text.substring(1, close);
            if (host.indexOf(':') < 0) {
                throw bad(text, "has brackets around something that is no IPv6 address");
            }
            return new Endpoint(host, rest.isEmpty() ? defaultPort : port(text, rest.substring(1)));
        }
        int colon = text.indexOf(':');
        if (colon < 0 || text.indexOf(':', colon + 1) >= 0) {
            return new Endpoint(text, defaultPort);
        }
        return new Endpoint(text.substring(0, colon), port(text, text.substring(colon + 1)));
    }

    private static int port(String text, String digits) {
        if (!digits.matches("\\d{1,5}")) {
            throw bad(text, "has no port from 0 to 65535 after the colon");
        }
        return Integer.parseInt(digits);
    }

    private static MooncakeException bad(String text, String why) {
        return new MooncakeException(Kind.CONFIG_ERROR,
                "address '" + text + "' " + why + ": write host:port or [ipv6]:port");
    }

    /** As {@link #parse} reads it. */
    @Override
    public String toString() {
        return host.indexOf(':') < 0 ? host + ":" + port : "[" + host + "]:" + port;
    }
}
