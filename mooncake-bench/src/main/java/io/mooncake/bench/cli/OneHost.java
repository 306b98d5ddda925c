package io.mooncake.bench.cli;

import io.mooncake.core.base.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/** This host, over loopback: nothing between the processes that could be cut. */
final class OneHost implements Hosts {
    private static final String LOOPBACK = "127.0.0.1";

    private final List<Integer> ports;

    /**
     * Finds ports.
     *
     * @param processes how many
     */
    OneHost(int processes) throws IOException {
        ports = freePorts(2 * processes);
    }

    /** Several at once, so that they differ. */
    static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            }
            return sockets.stream().map(ServerSocket::getLocalPort).toList();
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
    }

    @Override
    public Endpoint cluster(int process) {
        return new Endpoint(LOOPBACK, ports.get(2 * process));
    }

    @Override
    public Endpoint tcp(int process) {
        return new Endpoint(LOOPBACK, ports.get(2 * process + 1));
    }

    @Override
    public List<String> commandPrefix(int process) {
        return List.of();
    }

    @Override
    public String describe() {
        return "over loopback";
    }

    @Override
    public boolean canCut() {
        return false;
    }

    @Override
    public void cut(int one, int other) {
        throw new UnsupportedOperationException("loopback can't be cut");
    }

    @Override
    public void mend(int one, int other) {
        throw new UnsupportedOperationException("loopback can't be cut");
    }

    @Override
    public boolean canDisturb() {
        return false;
    }

    @Override
    public void disturb(int process, List<String> how) {
        throw new UnsupportedOperationException("loopback can't be disturbed");
    }

    @Override
    public void close() {
        // Nothing was made.
    }
}
