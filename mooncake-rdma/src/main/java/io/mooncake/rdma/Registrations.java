package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Region;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Has regions registered when somebody needs them: the poller, for a read that is to land there; the registrar, for a peer that asks. Gives up those
 * that were not read into for longest.
 *
 * <pre>
 *   poller      canLand ──not yet──▶ order ─┐                     ┌──▶ NicUse: known from now on, or why not
 *   registrar                               └──▶ register, ring ──┘ tell
 * </pre>
 */
final class Registrations {
    private final RdmaFabric fabric;
    /** The number of the region that is never given up. */
    private volatile int kept = -1;
    /** Memory of devices that some card does not take: as many as there are pools and caches on devices. */
    private final Set<Memory> refused = ConcurrentHashMap.newKeySet();

    Registrations(RdmaFabric fabric) {
        this.fabric = fabric;
    }

    void keep(Region region) {
        kept = region.id();
    }

    /** A card does not take a region of a device: whoever chooses ways takes another one from now on. Any thread. */
    void onRefused(Region region) {
        refused.add(region.memory());
    }

    boolean isRefused(Memory memory) {
        return !refused.isEmpty() && refused.contains(memory);
    }

    /** Whether a read can land in a region now. What is missing for that is begun. The poller. */
    boolean canLand(Nic nic, Region region, long readBytes) {
        NicUse use = nic.use;
        return switch (DestinationPath.of(use.find(region) != null, readBytes, use.bouncedBytes(region),
                Reach.isHost(region) && use.canBounce())) {
            case DIRECT -> true;
            case BOUNCE -> use.ring() != null || beginRing(nic);
            case REGISTER -> begin(nic, region);
        };
    }

    private boolean beginRing(Nic nic) {
        if (nic.use.mustAskForRing() && !fabric.order(() -> makeRing(nic))) {
            nic.use.unaskRing();
        }
        return false;
    }

    private boolean begin(Nic nic, Region region) {
        if (nic.use.mustAsk(region) && !fabric.order(() -> register(nic, region))) {
            nic.use.unask(region);
        }
        return false;
    }

    private void makeRing(Nic nic) {
        BounceRing ring = null;
        try {
            ring = nic.newBounceRing();
        } catch (RuntimeException e) {
            // Whatever it was: reads wait to be told.
            fabric.log(nic + " has no ring for short reads: their destinations are registered", e);
        }
        BounceRing made = ring;
        fabric.tell(() -> nic.use.onRing(made));
    }

    private void register(Nic nic, Region region) {
        try {
            registered(nic, region);
        } catch (MooncakeException e) {
            if (!Reach.isHost(region) && e.kind() == Kind.UNSUPPORTED) {
                onRefused(region);
            }
            failed(nic, region, e);
        } catch (RuntimeException e) {
            failed(nic, region, new MooncakeException(Kind.ILLEGAL_STATE,
                    region + " could not be registered with " + nic + ": " + e.getMessage(), e));
        }
    }

    /** Whatever it was: a read waits to be told. */
    private void failed(Nic nic, Region region, MooncakeException why) {
        if (!nic.isFailed()) {
            fabric.tell(() -> nic.use.onFailed(region, why));
        }
    }

    /** A region's registration with a card, which is told to the poller. The registrar. */
    Registration registered(Nic nic, Region region) {
        try {
            Registration registration = nic.register(region, fabric.node());
            fabric.tell(() -> {
                nic.use.onRegistered(registration);
                giveUpSurplus(nic);
            });
            return registration;
        } catch (MooncakeException e) {
            if (e.kind() == Kind.PEER_UNREACHABLE) {
                fabric.onFatal(nic, e.getMessage());
            }
            throw e;
        }
    }

    /** Keeps what is registered of the callers' regions within its bound. The poller. */
    private void giveUpSurplus(Nic nic) {
        long most = fabric.config().limits().memory().cachedBytes();
        for (Registration surplus; (surplus = nic.use.takeSurplus(most, kept)) != null;) {
            Registration gone = surplus;
            if (!fabric.order(() -> nic.deregister(gone))) {
                nic.use.onRegistered(gone);
                return;
            }
        }
    }
}
