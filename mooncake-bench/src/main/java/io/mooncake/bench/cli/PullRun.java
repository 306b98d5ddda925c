package io.mooncake.bench.cli;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** One run of ours in a JVM of its own, as the reference's runs are, and with as short a warm-up; prints a line a figure. */
final class PullRun {
    /** Longer than a run takes. */
    static final Duration RUN = Duration.ofMinutes(5);

    private PullRun() {}

    /**
     * Measures.
     *
     * @param args sizes, numbers outstanding, seconds, region bytes, block bytes, engine; then the nodes' settings
     */
    public static void main(String[] args) {
        PullSettings settings = new PullSettings(list(args[0]), list(args[1]).stream().map(Math::toIntExact).toList(),
                Double.parseDouble(args[2]), Long.parseLong(args[3]), Long.parseLong(args[4]), args[5],
                NodeSettings.ofArgs(Arrays.asList(args).subList(6, args.length)), false, false);
        try (Served server = Served.start(settings.regionBytes(), settings.blockBytes(), settings.nodes());
                PullClient client = new PullClient(settings, server)) {
            client.measureAll(figure -> System.out.println(figure.toLine()));
        }
    }

    /** The figures of a run that ended well. */
    static List<PullFigure> checked(Child child, List<PullFigure> figures) {
        int code = child.waitFor(RUN);
        if (code != 0 || figures.isEmpty()) {
            throw new IllegalStateException(
                    child + " ended with code " + code + " and " + figures.size() + " figures; see its error above");
        }
        return figures;
    }

    static Child start(PullSettings settings, List<Long> sizes) {
        List<String> args = new ArrayList<>(List.of(text(sizes), text(settings.outstanding()),
                Double.toString(settings.seconds()), Long.toString(settings.regionBytes()),
                Long.toString(settings.blockBytes()), settings.engine()));
        args.addAll(settings.nodes().toArgs());
        return Child.start(settings.nodes().jvmFlags(), PullRun.class, args);
    }

    private static String text(List<?> numbers) {
        return String.join(",", numbers.stream().map(String::valueOf).toList());
    }

    private static List<Long> list(String text) {
        return Arrays.stream(text.split(",", -1)).map(Long::valueOf).toList();
    }
}
