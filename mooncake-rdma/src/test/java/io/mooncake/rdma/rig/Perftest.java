package io.mooncake.rdma.rig;

import io.mooncake.rdma.verbs.Context;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.GidChoice;
import io.mooncake.rdma.verbs.NativeProvider;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * The C tools to compare with: {@code ib_read_bw} and {@code ib_read_lat}, from one device to another of this machine. Ours and theirs are
 * measured in turn; the figure is the median of each round's ratio, so that what slows the machine slows both.
 *
 * @param reader the device that reads
 * @param owner the device that is read from
 */
public record Perftest(End reader, End owner) {

    private static final int ROUNDS = Integer.getInteger("mooncake.perftest.rounds", 9);
    private static final long LIMIT_SECONDS = 60;
    private static final int TRIES = 40;
    private static final long LISTENING_MILLIS = 100;

    /**
     * One end.
     *
     * @param device its name
     * @param gid its address
     */
    public record End(String device, Gid gid) {
        static End of(Device device) {
            try (Context context = device.open()) {
                return new End(device.name(), GidChoice.of(context.gids(context.port(1)), null).orElseThrow().gid());
            }
        }
    }

    /** Something that is measured anew each time. */
    public interface Measure {
        /** The figure. */
        double take() throws IOException, InterruptedException;
    }

    /** From this machine's first device to its last one. */
    public static Perftest ofThisMachine() {
        List<Device> devices = Device.list(new NativeProvider());
        return new Perftest(End.of(devices.getFirst()), End.of(devices.getLast()));
    }

    /** The middle one. */
    public static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** The median of ours divided by theirs, round by round; printed with all rounds. */
    public static double ratio(String what, Measure ours, Measure theirs) throws IOException, InterruptedException {
        double[] ratios = new double[ROUNDS];
        List<String> rounds = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            // First the one, then the other, then the other way round.
            double before = i % 2 == 0 ? theirs.take() : 0;
            double own = ours.take();
            double reference = i % 2 == 0 ? before : theirs.take();
            ratios[i] = own / reference;
            rounds.add(String.format(Locale.ROOT, "%.1f/%.1f", own, reference));
        }
        double median = median(ratios);
        System.out.printf(Locale.ROOT, "[ratio] %s: median %.3f of %d rounds (%s)%n", what, median, ROUNDS,
                String.join(" ", rounds));
        return median;
    }

    /** MiB/s of READs of 1 MiB, 16 outstanding. */
    public double bandwidth(int iterations) throws IOException, InterruptedException {
        // #bytes #iterations BW peak, BW average
        return run("ib_read_bw", List.of("-s", "1048576", "-n", "" + iterations, "-t", "16", "-o", "16"), 3);
    }

    /** Median in microseconds of READs that wait for one another. */
    public double latency(int bytes, int iterations) throws IOException, InterruptedException {
        // #bytes #iterations t_min t_max t_typical
        return run("ib_read_lat", List.of("-s", "" + bytes, "-n", "" + iterations), 4);
    }

    private double run(String tool, List<String> arguments, int column) throws IOException, InterruptedException {
        Process server = start(tool, owner, arguments, "");
        try {
            for (int attempt = 1;; attempt++) {
                Process client = start(tool, reader, arguments, owner.gid.address());
                String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                boolean ended = client.waitFor() == 0;
                double figure = ended ? figure(text, column) : 0;
                if (figure > 0) {
                    return figure;
                }
                // The server may not listen yet; and now and then its clock, the processor's, gives no figure.
                if (attempt == TRIES || (!ended && !text.contains("Couldn't connect"))) {
                    throw new IOException(tool + " failed: " + text);
                }
                if (ended) {
                    server.waitFor();
                    server = start(tool, owner, arguments, "");
                }
                server.waitFor(LISTENING_MILLIS, TimeUnit.MILLISECONDS);
            }
        } finally {
            server.destroy();
            server.waitFor();
        }
    }

    private static Process start(String tool, End end, List<String> arguments, String peer) throws IOException {
        List<String> command = new ArrayList<>(
                List.of("timeout", "" + LIMIT_SECONDS, tool, "-F", "-d", end.device, "-x",
                        "" + end.gid.index()));
        command.addAll(arguments);
        if (!peer.isEmpty()) {
            command.add(peer);
        }
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** From the line below the heading that begins with {@code #bytes}. */
    private static double figure(String text, int column) throws IOException {
        List<String> lines = text.lines().map(String::strip).toList();
        for (int i = 0; i + 1 < lines.size(); i++) {
            if (lines.get(i).startsWith("#bytes")) {
                return Double.parseDouble(lines.get(i + 1).split("\\s+", -1)[column]);
            }
        }
        throw new IOException("no figure in: " + text);
    }
}
