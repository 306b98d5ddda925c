package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Gate.Lanes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A Java program in one file, run unchanged: {@code FILE server MiB} prints its port, {@code FILE client PORT SECONDS MiB} prints a line a
 * size.
 *
 * @param program the file
 * @param regionBytes what it is to pull from
 * @param seconds a size
 */
record JavaReference(Path program, long regionBytes, double seconds) implements Reference {
    private static final List<Gate> GATES = List.of(new Gate(64L << 20, 1, Figure.RATE, Lanes.ONE, 1.0),
            new Gate(64L << 20, 1, Figure.RATE, Lanes.BEST_OF_SEVERAL, 1.15),
            new Gate(1L << 20, 16, Figure.RATE, Lanes.BEST, 1.1), new Gate(4096, 1, Figure.LATENCY, Lanes.ONE, 1.5));

    @Override
    public String name() {
        return "java " + program.getFileName();
    }

    @Override
    public List<Gate> gates() {
        return GATES;
    }

    @Override
    public List<PullFigure> run(List<Long> sizes) {
        String file = program.toString();
        String mib = Long.toString(regionBytes >> 20);
        try (Child server = Child.java("reference server", List.of(file, "server", mib))) {
            String port = Objects.requireNonNull(server.readLine(PullRun.RUN),
                    "the reference's server printed no port");
            try (Child client = Child.java("reference client",
                    List.of(file, "client", port, Double.toString(seconds), mib))) {
                return withCpu(client, server);
            }
        }
    }

    /**
     * The program says nothing of processor time: it is what both processes took from one line to the next, for what went over meanwhile,
     * warm-up included, at the rate that the line says.
     */
    private static List<PullFigure> withCpu(Child client, Child server) {
        List<PullFigure> figures = new ArrayList<>();
        long atNs = System.nanoTime();
        long clientNs = client.cpuNs();
        long serverNs = server.cpuNs();
        for (String line = client.readLine(PullRun.RUN); line != null; line = client.readLine(PullRun.RUN)) {
            long clientNow = client.cpuNs();
            long serverNow = server.cpuNs();
            long now = System.nanoTime();
            PullFigure figure = PullFigure.ofLine(line);
            if (figure != null) {
                double bytes = figure.gbPerS() * (now - atNs);
                // After its last line the client may be gone already.
                figures.add(figure.withCpu(clientNow < clientNs ? Double.NaN : (clientNow - clientNs) / bytes,
                        serverNow < serverNs ? Double.NaN : (serverNow - serverNs) / bytes));
                atNs = now;
                clientNs = clientNow;
                serverNs = serverNow;
            }
        }
        return PullRun.checked(client, figures);
    }
}
