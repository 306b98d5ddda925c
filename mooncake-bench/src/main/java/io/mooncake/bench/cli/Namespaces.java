package io.mooncake.bench.cli;

import io.mooncake.core.base.Endpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A host for each process: network namespaces of this Linux, each joined by a veth pair to one more, which routes between them and is where
 * packets are lost and delayed. For root.
 *
 * <pre>
 *   process 0   eth0 10.77.1.2 ── link0 10.77.1.1 ┐
 *   process 1   eth0 10.77.2.2 ── link1 10.77.2.1 ┤ router       cut: a rule from the one to the other, blackhole
 *   ...                                           ┘              disturb: netem on linkN
 * </pre>
 *
 * <p>A namespace lives as long as a process in it: that is {@code cat}, which ends when this process does, however it does. So nothing is left
 * behind.
 */
final class Namespaces implements Hosts {
    private static final int CLUSTER_PORT = 7800;
    private static final int TCP_PORT = 7000;
    private static final long LIMIT_S = 30;

    private final List<Process> holders = new ArrayList<>();
    private final Process router;
    private final boolean netem;

    /**
     * Makes the hosts.
     *
     * @param processes how many
     * @throws IOException when the kernel refuses, with its words
     */
    Namespaces(int processes) throws IOException {
        try {
            router = hold();
            inside(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward");
            inside(router, "ip", "link", "set", "lo", "up");
            for (int i = 0; i < processes; i++) {
                join(hold(), i);
            }
            netem = hasNetem();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    private Process hold() throws IOException {
        Process holder = new ProcessBuilder("unshare", "--net", "cat").redirectErrorStream(true).start();
        holders.add(holder);
        // It echoes once it runs, so that the namespace is there by then.
        holder.outputWriter(StandardCharsets.UTF_8).append('\n').flush();
        int said = holder.getInputStream().read();
        if (said != '\n') {
            throw new IOException("unshare --net: " + (said < 0 ? "ended" : (char) said + rest(holder)));
        }
        return holder;
    }

    private static String rest(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    }

    private void join(Process host, int i) throws IOException {
        String net = "10.77." + (i + 1);
        inside(router, "ip", "link", "add", "link" + i, "type", "veth", "peer", "name", "eth0", "netns",
                Long.toString(host.pid()));
        inside(router, "ip", "addr", "add", net + ".1/24", "dev", "link" + i);
        inside(router, "ip", "link", "set", "link" + i, "up");
        inside(host, "ip", "link", "set", "lo", "up");
        inside(host, "ip", "addr", "add", net + ".2/24", "dev", "eth0");
        inside(host, "ip", "link", "set", "eth0", "up");
        inside(host, "ip", "route", "add", "default", "via", net + ".1");
    }

    private boolean hasNetem() {
        try {
            netem(0, "add", List.of("delay", "0ms"));
            disturb(0, List.of());
            return true;
        } catch (IOException e) {
            return false; // a kernel without it: what needs it is left out, and the command says so
        }
    }

    private static void inside(Process host, String... command) throws IOException {
        List<String> all = new ArrayList<>(enter(host));
        all.addAll(List.of(command));
        Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = rest(process);
        try {
            if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS) || process.exitValue() != 0) {
                process.destroyForcibly();
                throw new IOException(String.join(" ", command) + ": " + said);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted during " + String.join(" ", command), e);
        }
    }

    private static List<String> enter(Process host) {
        return List.of("nsenter", "--target", Long.toString(host.pid()), "--net");
    }

    private static String address(int process) {
        return "10.77." + (process + 1) + ".2";
    }

    @Override
    public Endpoint cluster(int process) {
        return new Endpoint(address(process), CLUSTER_PORT);
    }

    @Override
    public Endpoint tcp(int process) {
        return new Endpoint(address(process), TCP_PORT);
    }

    @Override
    public List<String> commandPrefix(int process) {
        return enter(holders.get(process + 1));
    }

    @Override
    public String describe() {
        return "in a network namespace each";
    }

    @Override
    public boolean canCut() {
        return true;
    }

    @Override
    public void cut(int one, int other) throws IOException {
        blackhole("add", one, other);
        blackhole("add", other, one);
    }

    @Override
    public void mend(int one, int other) throws IOException {
        blackhole("del", one, other);
        blackhole("del", other, one);
    }

    private void blackhole(String what, int from, int to) throws IOException {
        inside(router, "ip", "rule", what, "from", address(from), "to", address(to), "blackhole");
    }

    @Override
    public boolean canDisturb() {
        return netem;
    }

    @Override
    public void disturb(int process, List<String> how) throws IOException {
        if (how.isEmpty()) {
            inside(router, "tc", "qdisc", "del", "dev", "link" + process, "root");
        } else {
            netem(process, "replace", how);
        }
    }

    private void netem(int process, String what, List<String> how) throws IOException {
        List<String> command = new ArrayList<>(List.of("tc", "qdisc", what, "dev", "link" + process, "root", "netem"));
        command.addAll(how);
        inside(router, command.toArray(String[]::new));
    }

    @Override
    public void close() {
        holders.forEach(Process::destroy);
    }
}
