package io.mooncake.testing;

import io.mooncake.core.base.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** Ports that nobody listens at, for processes that must be told beforehand where each other will be. */
public final class FreePorts {
    private FreePorts() {}

    /**
     * Several at once, so that they differ.
     *
     * @param host an address of this host
     * @param count how many
     * @return as many addresses of that host
     */
    public static List<Endpoint> of(String host, int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            List<Endpoint> free = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                ServerSocket socket = new ServerSocket();
                sockets.add(socket);
                socket.bind(new InetSocketAddress(InetAddress.getByName(host), 0));
                free.add(new Endpoint(host, socket.getLocalPort()));
            }
            return free;
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
    }
}
