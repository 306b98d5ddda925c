package io.mooncake.core.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.Delta.RegionFact;
import io.mooncake.core.registry.Delta.Written;
import io.mooncake.core.registry.RegistryMessage.Deltas;
import io.mooncake.core.transfer.Peer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The merge rules, over a transport that loses, doubles and reorders. */
class ReplicatedRegistryTest {

    /** Messages on their way between the members of one test. */
    private static final class Bus {
        record Letter(String to, Consumer<ReplicatedRegistry> content) {}

        final Map<String, Member> members = new LinkedHashMap<>();
        final List<Letter> letters = new ArrayList<>();

        Member join(String name, long incarnation) {
            Member member = new Member(this, new NodeId(name, incarnation));
            members.put(name, member);
            member.registry.join(new Peer(member.id, Map.of()));
            for (Member other : members.values()) {
                if (other != member) {
                    other.registry.onMember(member.id);
                    member.registry.onMember(other.id);
                }
            }
            return member;
        }

        void deliverAll() {
            for (int rounds = 0; rounds < 8; rounds++) {
                members.values().forEach(member -> member.registry.flush());
                while (!letters.isEmpty()) {
                    deliver(letters.removeFirst());
                }
            }
        }

        void deliver(Letter letter) {
            Member to = members.get(letter.to);
            if (to != null) {
                letter.content.accept(to.registry);
            }
        }

        void quiet() {
            members.values().forEach(member -> member.registry.beat());
            deliverAll();
            members.values().forEach(member -> member.registry.beat());
            deliverAll();
        }
    }

    private static final class Member implements RegistryTransport {
        final Bus bus;
        final NodeId id;
        final ReplicatedRegistry registry = new ReplicatedRegistry(this);
        final Map<BlockId, BlockRef> truth = new LinkedHashMap<>();
        @Nullable
        NodeSpace space;

        Member(Bus bus, NodeId id) {
            this.bus = bus;
            this.id = id;
        }

        @Override
        public void broadcast(byte[] message) {
            bus.members.keySet().stream().filter(to -> !to.equals(id.name())).forEach(to -> send(to, message));
        }

        @Override
        public void send(NodeId to, byte[] message) {
            send(to.name(), message);
        }

        private void send(String to, byte[] message) {
            bus.letters.add(new Bus.Letter(to, registry -> registry.onMessage(message)));
        }

        void write(String block, long counter, int slot) {
            BlockRef ref = DeltaCodecTest.ref(id, block, counter, slot);
            truth.put(ref.id(), ref);
            registry.announce(ref);
        }

        void hasFree(long bytes) {
            space = new NodeSpace(id, List.of(new PoolSpace(Tier.DRAM, -1, 100, bytes, 0)));
            registry.announce(space);
        }

        void evict(BlockId block) {
            BlockRef ref = truth.remove(block);
            if (ref != null) {
                registry.withdraw(ref);
            }
        }
    }

    @Test
    void announcementsReachTheOthersInOrder() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        a.write("x", 1, 0);
        a.write("y", 2, 1);
        a.evict(BlockId.of("x"));
        bus.deliverAll();
        assertEquals(List.of(), b.registry.locations(BlockId.of("x")));
        assertEquals(List.of(DeltaCodecTest.ref(a.id, "y", 2, 1)), b.registry.locations(BlockId.of("y")));
        assertEquals(2, b.registry.highestCounter(BlockId.of("y")));
        assertNotNull(b.registry.peer(a.id));
        assertNull(b.registry.peer(new NodeId("a", 2)), "another life is nobody yet");
    }

    @Test
    void changesAreKnownOnlyWhenNoneBeforeThemIsMissing() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        bus.deliverAll();
        long before = a.registry.changesKnown(a.id);
        assertEquals(before, b.registry.changesKnown(a.id));
        a.write("lost", 1, 0);
        a.registry.flush();
        bus.letters.clear();
        a.write("x", 2, 1);
        a.registry.flush();
        bus.deliver(bus.letters.removeFirst());
        assertEquals(before + 2, a.registry.changesKnown(a.id));
        assertEquals(0, b.registry.changesKnown(a.id), "one is missing");
        bus.quiet();
        assertEquals(before + 2, b.registry.changesKnown(a.id));
        assertEquals(0, b.registry.changesKnown(new NodeId("a", 2)), "of another life nothing is known");
        b.registry.onDead(a.id, "test");
        assertEquals(0, b.registry.changesKnown(a.id), "what it said is forgotten");
    }

    @Test
    void theSameVersionInAnotherSlotOutlivesTheFirstSlotsEviction() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        BlockRef first = DeltaCodecTest.ref(a.id, "x", 1, 0);
        BlockRef second = DeltaCodecTest.ref(a.id, "x", 1, 5);
        a.registry.announce(first);
        a.registry.announce(second);
        a.registry.withdraw(first);
        bus.deliverAll();
        assertEquals(List.of(second), b.registry.locations(BlockId.of("x")));
    }

    @Test
    void aDeadNodesBlocksAreNotReadableWhateverArrivesLate() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        a.write("x", 1, 0);
        bus.deliverAll();
        a.write("y", 2, 1);
        a.registry.flush();
        b.registry.onDead(a.id, "test");
        bus.deliverAll();
        assertEquals(List.of(), b.registry.locations(BlockId.of("x")));
        assertEquals(List.of(), b.registry.locations(BlockId.of("y")));
        assertNull(b.registry.peer(a.id));
        // It was only cut off.
        b.registry.onMember(a.id);
        bus.deliverAll();
        assertEquals(1, b.registry.locations(BlockId.of("x")).size());
        assertEquals(1, b.registry.locations(BlockId.of("y")).size());
    }

    @Test
    void aLaterLifeWinsWholeAndAnEarlierOneNeverComesBack() {
        Bus bus = new Bus();
        Member old = bus.join("a", 5);
        Member b = bus.join("b", 1);
        old.write("x", 1, 0);
        old.registry.flush();
        List<Bus.Letter> late = List.copyOf(bus.letters);
        bus.deliverAll();
        Member now = bus.join("a", 6);
        now.write("y", 1, 0);
        bus.deliverAll();
        late.forEach(bus::deliver);
        b.registry.onMember(old.id);
        b.registry.onDead(old.id, "test");
        bus.deliverAll();
        assertEquals(List.of(), b.registry.locations(BlockId.of("x")));
        assertEquals(List.of(DeltaCodecTest.ref(now.id, "y", 1, 0)), b.registry.locations(BlockId.of("y")));
        assertEquals(1, b.registry.nodes().stream().filter(peer -> peer.id().name().equals("a")).count());
    }

    @Test
    void aNewLifeIsAboveEveryoneThatAnybodyKnows() {
        Bus bus = new Bus();
        bus.join("a", 5);
        Member b = bus.join("b", 1);
        bus.deliverAll();
        b.registry.onDead(new NodeId("a", 5), "killed");
        // The clock was set back: the life that a proposes is an earlier one.
        Member again = new Member(bus, new NodeId("a", 3));
        bus.members.put("a", again);
        assertEquals(again.id, again.registry.begin(again.id), "it knows nothing itself");
        again.registry.ask(again.id);
        bus.deliverAll();
        assertEquals(new NodeId("a", 6), again.registry.begin(again.id));
        assertEquals(new NodeId("a", 9), again.registry.begin(new NodeId("a", 9)));
    }

    @Test
    void changesAmongTheMembersAreToldOnceEach() {
        Bus bus = new Bus();
        Member b = bus.join("b", 1);
        List<MemberChange> told = new ArrayList<>();
        b.registry.watch(told::add);
        Member a = bus.join("a", 1);
        a.write("x", 1, 0);
        bus.quiet();
        b.registry.onDead(a.id, "killed");
        b.registry.onDead(a.id, "killed");
        b.registry.onMember(a.id);
        bus.quiet();
        Member now = bus.join("a", 2);
        bus.quiet();
        byte[] namesake = new Deltas(new NodeId("b", 2), 1, List.of()).toBytes();
        b.registry.onMessage(namesake);
        b.registry.onMessage(namesake);
        assertEquals(List.of("JOINED a#1", "DEAD a#1", "JOINED a#1", "DEAD a#1", "JOINED a#2", "DUPLICATE b#2"),
                told.stream().map(change -> change.kind() + " " + change.node()).toList());
        assertEquals("killed", told.get(1).reason());
        assertNotNull(b.registry.peer(now.id));
    }

    @Test
    void C47_whatANodeSaysOfItselfAnewReplacesWhatItSaidBefore() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        a.registry.announceNode(new Peer(a.id, Map.of()), List.of(new RegionFact(1, 4096, 1)));
        bus.deliverAll();
        a.registry.announceNode(new Peer(a.id, Map.of()), List.of(new RegionFact(1, 4096, 2)));
        bus.deliverAll();
        assertEquals(List.of(new RegionFact(1, 4096, 2)), b.registry.regions(a.id));
        assertThrows(MooncakeException.class, () -> a.registry.announceNode(new Peer(b.id, Map.of()), List.of()));
    }

    @Test
    void C48_badMessagesAreCountedAndOnlyTheySuffer() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        bus.deliverAll();
        b.registry.onMessage(new byte[0]);
        b.registry.onMessage(new byte[10 << 20]);
        a.write("x", 1, 0);
        bus.deliverAll();
        byte[] foreign = new Deltas(a.id, 3, List.of(new Written(DeltaCodecTest.ref(b.id, "z", 1, 0)))).toBytes();
        b.registry.onMessage(foreign);
        assertEquals(3, b.registry.unread());
        bus.quiet();
        assertEquals(1, b.registry.locations(BlockId.of("x")).size());
        assertEquals(List.of(), b.registry.locations(BlockId.of("z")));
    }

    @Test
    void tooManyAtOnceAreAGapThatIsRepaired() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        Member b = bus.join("b", 1);
        bus.deliverAll();
        int blocks = ReplicatedRegistry.MAX_PENDING + 100;
        for (int i = 0; i < blocks; i++) {
            a.write("x" + i, i + 1, i);
        }
        bus.quiet();
        for (int i = 0; i < blocks; i++) {
            assertEquals(1, b.registry.locations(BlockId.of("x" + i)).size());
        }
    }

    @Test
    void aJoinerIsUpToDateWhileTheOwnerKeepsAnnouncing() {
        Bus bus = new Bus();
        Member a = bus.join("a", 1);
        for (int i = 0; i < 1_000; i++) {
            a.write("x" + i, i + 1, i);
        }
        bus.deliverAll();
        Member b = bus.join("b", 1);
        b.registry.flush();
        List<Bus.Letter> asks = List.copyOf(bus.letters);
        bus.letters.clear();
        asks.forEach(bus::deliver);
        a.registry.flush();
        List<Bus.Letter> snapshot = List.copyOf(bus.letters);
        assertTrue(snapshot.size() > 1, "it has several parts");
        bus.letters.clear();
        // It is slow; what a says meanwhile comes first, and b does not ask for another one.
        for (int i = 0; i < 50; i++) {
            a.write("y" + i, 2_000 + i, 2_000 + i);
            a.registry.flush();
            while (!bus.letters.isEmpty()) {
                bus.deliver(bus.letters.removeFirst());
            }
            b.registry.flush();
        }
        assertEquals(0, bus.letters.size(), "b asked again and again");
        snapshot.forEach(bus::deliver);
        for (BlockRef ref : a.truth.values()) {
            assertEquals(List.of(ref), b.registry.locations(ref.id()));
        }
    }

    @Test
    void factsConvergeToTheirOwnersWhateverTheNetworkDoes() {
        for (long seed = 1; seed <= 300; seed++) {
            new Chaos(seed).run();
        }
    }

    /** Random writes, evictions, losses, duplicates, reorderings, partitions and restarts; then quiet. */
    private static final class Chaos {
        private final long seed;
        private final Random random;
        private final Bus bus = new Bus();
        private final Set<NodeId> over = new HashSet<>();
        private long counter;

        Chaos(long seed) {
            this.seed = seed;
            random = new Random(seed);
        }

        void run() {
            for (int i = 0; i < 4; i++) {
                bus.join("n" + i, 1);
            }
            for (int step = 0; step < 400; step++) {
                step();
                check();
            }
            // Heal: everybody sees everybody.
            for (Member a : bus.members.values()) {
                bus.members.values().stream().filter(b -> b != a).forEach(b -> a.registry.onMember(b.id));
            }
            bus.quiet();
            converged();
        }

        private void step() {
            List<Member> all = new ArrayList<>(bus.members.values());
            Member member = all.get(random.nextInt(all.size()));
            switch (random.nextInt(13)) {
                case 0, 1, 2 -> member.write("b" + random.nextInt(10), ++counter, random.nextInt(8));
                case 12 -> member.hasFree(random.nextInt(100));
                case 3 -> member.evict(BlockId.of("b" + random.nextInt(10)));
                case 4, 5 -> member.registry.flush();
                case 6 -> member.registry.beat();
                case 7 -> {
                    if (random.nextInt(10) == 0) {
                        over.add(member.id);
                        bus.join(member.id.name(), member.id.incarnation() + 1);
                    }
                }
                case 8 -> {
                    Member other = all.get(random.nextInt(all.size()));
                    if (other != member && random.nextBoolean()) {
                        member.registry.onDead(other.id, "test");
                    } else if (other != member) {
                        member.registry.onMember(other.id);
                    }
                }
                default -> network();
            }
        }

        private void network() {
            if (bus.letters.isEmpty()) {
                return;
            }
            Bus.Letter letter = bus.letters.get(random.nextInt(bus.letters.size()));
            if (random.nextInt(4) != 0) {
                bus.deliver(letter);
            }
            if (random.nextInt(4) != 0) {
                bus.letters.remove(letter);
            }
        }

        /** At every step: nobody has facts of a life after it heard of a later one. */
        private void check() {
            for (Member member : bus.members.values()) {
                Set<String> names = new HashSet<>();
                for (Peer peer : member.registry.nodes()) {
                    assertTrue(names.add(peer.id().name()), "seed " + seed + ": two lives of " + peer.id());
                }
            }
        }

        private void converged() {
            for (Member reader : bus.members.values()) {
                for (int i = 0; i < 10; i++) {
                    BlockId id = BlockId.of("b" + i);
                    Set<BlockRef> truth = new HashSet<>();
                    for (Member owner : bus.members.values()) {
                        if (owner.truth.containsKey(id)) {
                            truth.add(owner.truth.get(id));
                        }
                    }
                    List<BlockRef> known = reader.registry.locations(id);
                    assertEquals(truth, new HashSet<>(known), "seed " + seed + ", " + reader.id + ", block " + i);
                    assertEquals(truth.size(), known.size());
                }
                for (Member owner : bus.members.values()) {
                    assertEquals(owner.space, reader.registry.space(owner.id), "seed " + seed + ", " + reader.id);
                }
                over.forEach(life -> assertNull(reader.registry.space(life), "seed " + seed));
                reader.registry.nodes().forEach(peer -> assertTrue(!over.contains(peer.id()), "seed " + seed));
            }
        }
    }
}
