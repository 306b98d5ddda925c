package io.mooncake.rdma.verbs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The C tools to compare with: {@code ib_read_bw} and {@code ib_read_lat}, from one device to another of this machine. */
record Perftest(DeviceEnd reader, DeviceEnd owner) {

    private static final long LIMIT_SECONDS = 60;
    private static final int FIRST_TRY = 1;
    private static final int TRIES = 40;

    /** MiB/s of READs of 1 MiB, 16 outstanding. */
    double bandwidth(int iterations) throws IOException, InterruptedException {
        // #bytes #iterations BW peak, BW average
        return run("ib_read_bw", List.of("-s", "1048576", "-n", "" + iterations, "-t", "16", "-o", "16"), 3);
    }

    /** Median in microseconds of READs that wait for one another. */
    double latency(int bytes, int iterations) throws IOException, InterruptedException {
        // #bytes #iterations t_min t_max t_typical
        return run("ib_read_lat", List.of("-s", "" + bytes, "-n", "" + iterations), 4);
    }

    private double run(String tool, List<String> arguments, int column) throws IOException, InterruptedException {
        String address = owner.gid.address();
        Process server = start(tool, owner, arguments, "");
        try {
            for (int attempt = FIRST_TRY;; attempt++) {
                Process client = start(tool, reader, arguments, address);
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
                server.waitFor(100, TimeUnit.MILLISECONDS);
            }
        } finally {
            server.destroy();
            server.waitFor();
        }
    }

    private static Process start(String tool, DeviceEnd end, List<String> arguments, String peer) throws IOException {
        List<String> command = new ArrayList<>(List.of("timeout", "" + LIMIT_SECONDS, tool, "-F", "-d",
                end.context.device().name(), "-x", "" + end.gid.index()));
        command.addAll(arguments);
        if (!peer.isEmpty()) {
            command.add(peer);
        }
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** The line below the heading that begins with {@code #bytes}. */
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
