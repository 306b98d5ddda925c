package io.mooncake.core.registry;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.ArrayList;
import java.util.List;

/** How a node finds the others of its cluster. Immutable. Printing gives the text that {@link #parse} reads. */
public sealed interface Discovery {
    /** The port of a cluster address that names none. */
    int DEFAULT_PORT = 7800;

    /**
     * By a list of addresses. Not every node needs to be in it: one that answers is enough, and what it knows is passed on.
     *
     * @param addresses the {@code cluster.bind} of some nodes, this one's own may be among them
     */
    record Addresses(List<Endpoint> addresses) implements Discovery {
        /**
         * Copies.
         *
         * @throws MooncakeException CONFIG_ERROR for an empty list or a port of 0
         */
        public Addresses {
            addresses = List.copyOf(addresses);
            if (addresses.isEmpty() || addresses.stream().anyMatch(address -> address.port() == 0)) {
                throw bad(addresses.toString(), "needs at least one address, each with a port");
            }
        }

        @Override
        public String toString() {
            return String.join(",", addresses.stream().map(Endpoint::toString).toList());
        }
    }

    /**
     * By IP multicast, for networks that carry it. Only finding is done so; what nodes say to each other goes by TCP.
     *
     * @param group a multicast address and a port
     */
    record Multicast(Endpoint group) implements Discovery {
        /** The group of {@code multicast} alone. */
        public static final Endpoint DEFAULT_GROUP = new Endpoint("239.75.76.79", DEFAULT_PORT);

        @Override
        public String toString() {
            return "multicast:" + group;
        }
    }

    /**
     * By the addresses that a name has, looked up again and again.
     *
     * @param name for example of a headless service
     * @param port at which each of them listens
     */
    record Dns(String name, int port) implements Discovery {
        /**
         * Checks both.
         *
         * @throws MooncakeException CONFIG_ERROR
         */
        public Dns {
            if (name.isBlank() || port < 1 || port > 65535) {
                throw bad("dns:" + name + ":" + port, "needs a name and a port from 1 to 65535");
            }
        }

        @Override
        public String toString() {
            return "dns:" + name + ":" + port;
        }
    }

    /**
     * Reads {@code host:port,host:port}, {@code multicast}, {@code multicast:group:port}, {@code dns:name} or {@code dns:name:port};
     * where no port is given it is {@value #DEFAULT_PORT}.
     *
     * @param text as in a setting
     * @return the way to find the others
     * @throws MooncakeException CONFIG_ERROR naming the text
     */
    static Discovery parse(String text) {
        if (text.equals("multicast")) {
            return new Multicast(Multicast.DEFAULT_GROUP);
        }
        if (text.startsWith("multicast:")) {
            return new Multicast(Endpoint.parse(text.substring("multicast:".length()), DEFAULT_PORT));
        }
        if (text.startsWith("dns:")) {
            Endpoint name = Endpoint.parse(text.substring("dns:".length()), DEFAULT_PORT);
            return new Dns(name.host(), name.port());
        }
        List<Endpoint> addresses = new ArrayList<>();
        for (String address : text.split(",", -1)) {
            addresses.add(Endpoint.parse(address.strip(), DEFAULT_PORT));
        }
        return new Addresses(addresses);
    }

    private static MooncakeException bad(String text, String why) {
        return new MooncakeException(Kind.CONFIG_ERROR, "cluster.discovery = '" + text + "' " + why
                + ": write host:port,host:port or multicast or dns:name:port");
    }
}
