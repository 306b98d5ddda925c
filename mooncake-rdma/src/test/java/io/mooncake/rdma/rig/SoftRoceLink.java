package io.mooncake.rdma.rig;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The cable between the two devices of the virtual machine, from one end of it: {@code rnic0} under {@code rxe0}, 10.77.0.1, or {@code rnic1}
 * under {@code rxe1}, 10.77.0.2. Only there: see {@link RdmaDevices#assumeSoftRoce}.
 */
public final class SoftRoceLink {

    private final int end;

    private SoftRoceLink(int end) {
        this.end = end;
    }

    /**
     * One end.
     *
     * @param end 0 or 1
     * @return it
     */
    public static SoftRoceLink of(int end) {
        return new SoftRoceLink(end);
    }

    private String name() {
        return "rnic" + end;
    }

    private String address(int of) {
        return "10.77.0." + (of + 1);
    }

    /** The port goes down. */
    public void down() throws IOException, InterruptedException {
        ip("link", "set", name(), "down");
    }

    /** The port comes up, with the routes that the kernel forgot when it went down. */
    public void up() throws IOException, InterruptedException {
        int other = 1 - end;
        ip("link", "set", name(), "up");
        ip("route", "replace", address(other) + "/32", "dev", name(), "src", address(end), "table", "" + (101 + end));
        ip("neigh", "replace", address(other), "lladdr",
                Files.readString(Path.of("/sys/class/net/rnic" + other + "/address")).strip(), "dev", name(), "nud",
                "permanent");
    }

    private static void ip(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("/usr/bin/env", "PATH=/usr/sbin:/sbin:/usr/bin:/bin", "ip"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(command + ": " + text);
        }
    }
}
