package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Gate.Lanes;
import io.mooncake.rdma.Rdma;
import io.mooncake.rdma.RdmaConfig;
import io.mooncake.rdma.RdmaSurvey.PortReport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * {@code ib_read_bw} and {@code ib_read_lat} of perftest, two processes over one device of this machine: what the card and the library can
 * do without us. A rate is that of READs of at most 1 MiB, 16 outstanding, since that is how large pulls are cut; a latency that of one READ.
 */
final class PerftestReference implements Reference {
    /** By this name instead of a program's file. */
    static final String NAME = "perftest";
    private static final long CHUNK = 1 << 20;
    private static final int OUTSTANDING = 16;
    private static final double MIB_PER_S = (1 << 20) / 1e9;
    /** Their retry count is for ever on some cards, so somebody has to end them. */
    private static final long LIMIT_S = 60;
    private static final int TRIES = 40;
    private static final long LISTENING_MS = 100;
    private static final int FEWEST = 64;
    private static final int MOST = 200_000;
    private static final List<Gate> GATES = List.of(new Gate(64L << 20, 1, Figure.RATE, Lanes.ONE, 0.95),
            new Gate(CHUNK, OUTSTANDING, Figure.RATE, Lanes.ONE, 0.95),
            new Gate(CHUNK, 1, Figure.LATENCY, Lanes.ONE, 1.1), new Gate(64, 1, Figure.LATENCY, Lanes.ONE, 2.0));

    private final String device;
    private final int gid;
    private final double seconds;
    /** Seconds that one READ takes, by tool and size. */
    private final Map<String, Double> each = new HashMap<>();

    private PerftestReference(String device, int gid, double seconds) {
        this.device = device;
        this.gid = gid;
        this.seconds = seconds;
    }

    /**
     * Over the device that nodes would use.
     *
     * @param devices those allowed; none: the first one usable
     * @param seconds that a figure is measured for, about
     */
    static PerftestReference over(List<String> devices, double seconds) {
        PortReport port = Rdma.survey(new RdmaConfig.Devices(devices, 1, null))
                .ports()
                .stream()
                .filter(PortReport::isUsed)
                .findFirst()
                .orElseThrow(() -> new BadInputException("--reference = " + NAME
                        + ": there is no RDMA device that a node would use here; see what devices says"));
        return new PerftestReference(port.device(), port.gid(), seconds);
    }

    /** By which ours must go, too. */
    String device() {
        return device;
    }

    @Override
    public String name() {
        return NAME + " over " + device;
    }

    @Override
    public List<Gate> gates() {
        return GATES;
    }

    @Override
    public List<PullFigure> run(List<Long> sizes) {
        List<PullFigure> figures = new ArrayList<>();
        for (long size : sizes) {
            long chunk = Math.min(size, CHUNK);
            // #bytes #iterations BW-peak BW-average
            double gbPerS = Double.NaN;
            if (Figure.RATE.isTold(size, 1)) {
                gbPerS = measure("ib_read_bw", chunk, List.of("-t", "" + OUTSTANDING, "-o", "" + OUTSTANDING))[3]
                        * MIB_PER_S;
                each.put("ib_read_bw" + chunk, chunk / gbPerS / 1e9);
            }
            // #bytes #iterations t_min t_max t_typical t_avg t_stdev 99%
            double[] latency = {0, 0, 0, 0, Double.NaN, 0, 0, Double.NaN};
            if (size <= CHUNK) {
                latency = measure("ib_read_lat", size, List.of());
                each.put("ib_read_lat" + size, latency[5] / 1e6);
            }
            figures.add(new PullFigure(size, 1, (long) latency[1], latency[4], latency[7], gbPerS, 0, Double.NaN,
                    Double.NaN));
        }
        return figures;
    }

    private double[] measure(String tool, long bytes, List<String> more) {
        Double known = each.get(tool + bytes);
        int count = known == null ? FEWEST : (int) Math.clamp(seconds / known, FEWEST, MOST);
        List<String> command = new ArrayList<>(List.of("timeout", "" + LIMIT_S, tool, "-F", "-d", device, "-x",
                "" + gid, "-p", "" + freePort(), "-s", "" + bytes, "-n", "" + count));
        command.addAll(more);
        try {
            return measure(tool, command);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + tool + ", which is of the package perftest", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + tool + " ran", e);
        }
    }

    private static double[] measure(String tool, List<String> command) throws IOException, InterruptedException {
        List<String> ask = new ArrayList<>(command);
        ask.add(InetAddress.getLoopbackAddress().getHostAddress());
        Process server = start(command);
        try {
            for (int attempt = 1;; attempt++) {
                Process client = start(ask);
                String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (client.waitFor() == 0) {
                    return figures(tool, text);
                }
                // The server may not listen yet.
                if (attempt == TRIES || !text.contains("Couldn't connect")) {
                    throw new IllegalStateException(tool + " failed: " + text.strip());
                }
                server.waitFor(LISTENING_MS, TimeUnit.MILLISECONDS);
            }
        } finally {
            server.destroy();
            server.waitFor();
        }
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** The line below the heading. */
    private static double[] figures(String tool, String text) {
        String[] lines = text.lines().map(String::strip).toArray(String[]::new);
        for (int i = 0; i + 1 < lines.length; i++) {
            if (lines[i].startsWith("#bytes")) {
                String[] words = lines[i + 1].split("\\s+", -1);
                double[] values = new double[words.length];
                for (int j = 0; j < values.length; j++) {
                    values[j] = Double.parseDouble(words[j]);
                }
                return values;
            }
        }
        throw new IllegalStateException(tool + " printed no figures: " + text.strip());
    }

    private static int freePort() {
        try {
            return OneHost.freePorts(1).getFirst();
        } catch (IOException e) {
            throw new UncheckedIOException("no TCP port is free", e);
        }
    }
}
