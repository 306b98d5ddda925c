package io.mooncake.core.sim;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.RegistryTransport;
import io.mooncake.core.registry.ReplicatedRegistry;
import io.mooncake.testing.VirtualTime;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Carries the registries' messages late, sometimes twice or never, in any order; tells the living who is a member. A cut or a crash is
 * noticed some time later.
 */
final class SimBus {
    private static final int LOST_PERCENT = 8;
    private static final int DOUBLED_PERCENT = 5;
    private static final long DELAY_NS = 60_000;
    private static final long NOTICE_NS = 600_000;

    private record Member(NodeId id, ReplicatedRegistry registry) {}

    private final VirtualTime time;
    private final SplittableRandom random;
    private final Map<String, Member> members = new TreeMap<>();
    private final Set<String> cuts = new HashSet<>();
    private boolean faultless;

    SimBus(VirtualTime time, SplittableRandom random) {
        this.time = time;
        this.random = random;
    }

    /** From now on nothing is lost or doubled. */
    void becomeFaultless() {
        faultless = true;
    }

    RegistryTransport endpoint(String name) {
        return new RegistryTransport() {
            @Override
            public void broadcast(byte[] message) {
                List.copyOf(members.keySet()).stream().filter(to -> !to.equals(name)).forEach(to -> carry(to, message));
            }

            @Override
            public void send(NodeId to, byte[] message) {
                carry(to.name(), message);
            }

            private void carry(String to, byte[] message) {
                int luck = faultless ? 100 : random.nextInt(100);
                if (luck >= LOST_PERCENT) {
                    time.after(random.nextLong(DELAY_NS), () -> deliver(name, to, message));
                }
                if (luck >= LOST_PERCENT && luck < LOST_PERCENT + DOUBLED_PERCENT) {
                    time.after(random.nextLong(4 * DELAY_NS), () -> deliver(name, to, message));
                }
            }
        };
    }

    private void deliver(String from, String to, byte[] message) {
        Member receiver = members.get(to);
        if (receiver != null && members.containsKey(from) && !cuts.contains(pair(from, to))) {
            receiver.registry.onMessage(message);
        }
    }

    void join(NodeId id, ReplicatedRegistry registry) {
        Member joined = new Member(id, registry);
        members.put(id.name(), joined);
        for (Member other : List.copyOf(members.values())) {
            if (!other.id.equals(joined.id)) {
                notice(() -> meet(joined, other));
                notice(() -> meet(other, joined));
            }
        }
    }

    private void meet(Member one, Member other) {
        if (isMember(one) && isMember(other) && !cuts.contains(pair(one.id.name(), other.id.name()))) {
            one.registry.onMember(other.id);
        }
    }

    private boolean isMember(Member member) {
        Member now = members.get(member.id.name());
        return now != null && now.id.equals(member.id);
    }

    void leave(NodeId id) {
        Member gone = members.get(id.name());
        if (gone != null && gone.id.equals(id)) {
            members.remove(id.name());
            members.values().forEach(other -> notice(() -> other.registry.onDead(id, "it left")));
        }
    }

    void cut(String one, String other) {
        cuts.add(pair(one, other));
        notice(() -> {
            Member a = members.get(one);
            Member b = members.get(other);
            if (a != null && b != null && cuts.contains(pair(one, other))) {
                a.registry.onDead(b.id, "cut");
                b.registry.onDead(a.id, "cut");
            }
        });
    }

    void heal(String one, String other) {
        cuts.remove(pair(one, other));
        Member a = members.get(one);
        Member b = members.get(other);
        if (a != null && b != null) {
            notice(() -> meet(a, b));
            notice(() -> meet(b, a));
        }
    }

    private void notice(Runnable what) {
        time.after(random.nextLong(NOTICE_NS), what);
    }

    private static String pair(String one, String other) {
        return one.compareTo(other) < 0 ? one + " " + other : other + " " + one;
    }
}
