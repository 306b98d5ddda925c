package io.mooncake.cuda;

import io.mooncake.cuda.PeerLink.Way;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.DeviceMemory;
import io.mooncake.cuda.runtime.Event;
import io.mooncake.cuda.runtime.PinnedMemory;
import io.mooncake.cuda.runtime.Stream;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds out, once, how each device copies best to each other one. */
final class PeerProbe {
    private static final Logger LOG = LoggerFactory.getLogger(PeerProbe.class);
    private static final long PROBE_BYTES = 8L << 20;
    private static final int ROUNDS = 3;

    private PeerProbe() {}

    static List<PeerLink> of(List<Device> devices, boolean measured) {
        List<PeerLink> links = new ArrayList<>();
        for (Device from : devices) {
            for (Device to : devices) {
                if (from.number() != to.number()) {
                    PeerLink link = link(from, to, measured);
                    LOG.info("{}", link);
                    links.add(link);
                }
            }
        }
        return links;
    }

    private static PeerLink link(Device from, Device to, boolean measured) {
        boolean reachable = from.canAccess(to);
        if (reachable) {
            try {
                from.enableAccess(to);
            } catch (CudaException e) {
                LOG.warn("copies from {} to {} go by the host", from, to, e);
                reachable = false;
            }
        }
        Way known = reachable ? Way.DIRECT : Way.STAGED;
        if (!measured) {
            return new PeerLink(from.number(), to.number(), known, 0, 0, 0);
        }
        try {
            long direct = reachable ? directNs(from, to) : 0;
            long staged = stagedNs(from, to);
            Way way = reachable && direct <= staged ? Way.DIRECT : Way.STAGED;
            return new PeerLink(from.number(), to.number(), way, direct, staged, PROBE_BYTES);
        } catch (CudaException e) {
            LOG.warn("the way from {} to {} was not measured", from, to, e);
            return new PeerLink(from.number(), to.number(), known, 0, 0, 0);
        }
    }

    private static long directNs(Device from, Device to) {
        try (DeviceMemory source = new DeviceMemory(from, PROBE_BYTES);
                DeviceMemory target = new DeviceMemory(to, PROBE_BYTES)) {
            return bestNs(from, target.address(), source.address());
        }
    }

    private static long stagedNs(Device from, Device to) {
        try (DeviceMemory source = new DeviceMemory(from, PROBE_BYTES);
                DeviceMemory target = new DeviceMemory(to, PROBE_BYTES);
                PinnedMemory between = new PinnedMemory(from, PROBE_BYTES)) {
            long host = between.segment().address();
            // Both halves run at the same time once the first chunk has arrived: the slower one is what it takes.
            return Math.max(bestNs(from, host, source.address()), bestNs(to, target.address(), host));
        }
    }

    private static long bestNs(Device device, long to, long from) {
        int before = device.enter();
        try (Stream stream = new Stream(device, "probe", 0);
                Event began = new Event(device, "begin of probe", true);
                Event ended = new Event(device, "end of probe", true)) {
            long best = Long.MAX_VALUE;
            for (int i = 0; i < ROUNDS; i++) {
                began.record(stream);
                stream.copy(to, from, PROBE_BYTES);
                ended.record(stream);
                stream.synchronize();
                best = Math.min(best, Math.max(1, ended.nanosSince(began)));
            }
            return best;
        } finally {
            device.leave(before);
        }
    }
}
