package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import io.mooncake.cuda.Cuda;
import io.mooncake.cuda.CudaConfig;
import io.mooncake.cuda.CudaDevices;
import io.mooncake.cuda.PeerLink;
import io.mooncake.rdma.Rdma;
import io.mooncake.rdma.RdmaConfig;
import io.mooncake.rdma.RdmaSurvey;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What this machine has for RDMA, what a node would use of it and why, and what is wrong with limits and links; and its GPUs. */
@Command(name = "devices", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = "Shows the RDMA devices: what is there, what a node would use and why, what is wrong with limits and links; and the GPUs. Exit code 1 when a node could use no RDMA device.")
final class DevicesCommand implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--device", split = ",", paramLabel = "NAME", description = "Devices that the node is to use (default: each with an active port).")
    private List<String> devices = List.of();

    @Option(names = "--port", defaultValue = "1", description = "Port of each (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(names = "--gid", paramLabel = "INDEX|ADDRESS", description = "The port's address that peers see (default: chosen by rule).")
    private @Nullable String gid;

    @Option(names = "--json", paramLabel = "FILE", description = "Writes it there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        Json.checkWritable(json);
        RdmaSurvey survey = Rdma.survey(new RdmaConfig.Devices(devices, port, gid));
        print(survey, spec.commandLine().getOut());
        List<String> gpus = gpus();
        gpus.forEach(line -> spec.commandLine().getOut().printf("GPU: %s%n", line));
        spec.commandLine().getOut().flush();
        if (json != null) {
            Map<String, Object> result = toJson(survey);
            result.put("gpus", gpus);
            Json.write(json, result);
        }
        return survey.isUsable() ? Main.OK : Main.FAILED;
    }

    /** A line for each, and for each way from one to another; or why there is none. */
    private static List<String> gpus() {
        Throwable why = Cuda.unavailabilityCause();
        if (why != null) {
            return List.of("none: " + why.getMessage());
        }
        CudaDevices gpus = CudaDevices.open(CudaConfig.defaults());
        return Stream.concat(gpus.describe().stream(), gpus.links().stream().map(PeerLink::toString)).toList();
    }

    static void print(RdmaSurvey survey, PrintWriter out) {
        out.printf("memory that may be locked: %s%n",
                survey.lockableBytes() == Long.MAX_VALUE ? "unlimited" : ByteSize.format(survey.lockableBytes()));
        for (RdmaSurvey.PortReport port : survey.ports()) {
            RdmaSurvey.Link link = port.link();
            RdmaSurvey.Place place = port.place();
            out.printf("%s port %d: %s, %s, packets of %d bytes%s%s%s, firmware %s%n", port.device(), link.port(),
                    link.state(), link.ethernet() ? "Ethernet" : "InfiniBand", link.mtuBytes(),
                    link.mbitsPerSecond() == 0 ? "" : ", " + link.mbitsPerSecond() / 1000.0 + " Gbit/s",
                    place.pciAddress().isEmpty() ? "" : ", PCI " + place.pciAddress(),
                    place.numaNode() < 0 ? "" : ", NUMA node " + place.numaNode(), place.firmware());
            out.printf("  %s: %s%n", port.isUsed() ? "used" : "not used", port.reason());
            port.gids().forEach(address -> out.printf("  %s%n", address));
            port.problems().forEach(problem -> out.printf("  PROBLEM: %s%n", problem));
        }
        survey.problems().forEach(problem -> out.printf("PROBLEM: %s%n", problem));
        out.printf("a node %s%n", survey.isUsable() ? "can use RDMA here" : "cannot use RDMA here");
        out.flush();
    }

    private static Map<String, Object> toJson(RdmaSurvey survey) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "devices");
        result.put("usable", survey.isUsable());
        result.put("lockableBytes", survey.lockableBytes());
        result.put("problems", survey.problems());
        result.put("ports", survey.ports().stream().map(DevicesCommand::toJson).toList());
        return result;
    }

    private static Map<String, Object> toJson(RdmaSurvey.PortReport port) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("device", port.device());
        result.put("port", port.link().port());
        result.put("state", port.link().state());
        result.put("ethernet", port.link().ethernet());
        result.put("mtuBytes", port.link().mtuBytes());
        result.put("mbitsPerSecond", port.link().mbitsPerSecond());
        result.put("pciAddress", port.place().pciAddress());
        result.put("numaNode", port.place().numaNode());
        result.put("firmware", port.place().firmware());
        result.put("gids", port.gids());
        result.put("used", port.isUsed());
        result.put("reason", port.reason());
        result.put("problems", port.problems());
        return result;
    }
}
