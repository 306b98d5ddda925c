package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import java.util.Arrays;
import java.util.List;

/** One run of ours in a JVM of its own, as the reference's runs are: measures with one pull outstanding and as short a warm-up, prints a line a size. */
final class PullRun {
    private PullRun() {}

    /**
     * Measures.
     *
     * @param args sizes, seconds, region bytes, block bytes, threading mode, idle mode
     */
    public static void main(String[] args) {
        List<Long> sizes = Arrays.stream(args[0].split(",", -1)).map(Long::valueOf).toList();
        PullSettings settings = new PullSettings(sizes, List.of(1), Double.parseDouble(args[1]),
                Long.parseLong(args[2]),
                Long.parseLong(args[3]), ThreadingMode.valueOf(args[4]), IdleMode.valueOf(args[5]), false, false);
        try (Served server = Served.start(settings.regionBytes(), settings.blockBytes(), settings.threading(),
                settings.idle());
                PullClient client = new PullClient(settings, server)) {
            client.measureAll(figure -> System.out.println(figure.toLine()));
        }
    }

    static Child start(PullSettings settings, List<Long> sizes) {
        String list = String.join(",", sizes.stream().map(String::valueOf).toList());
        return Child.start(List.of(), PullRun.class,
                List.of(list, Double.toString(settings.seconds()), Long.toString(settings.regionBytes()),
                        Long.toString(settings.blockBytes()), settings.threading().name(), settings.idle().name()));
    }
}
