package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.base.Counters;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.Topic;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.CompletionQueue;
import io.mooncake.rdma.verbs.ConnectionSettings;
import io.mooncake.rdma.verbs.Context;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.GidChoice;
import io.mooncake.rdma.verbs.LocalPath;
import io.mooncake.rdma.verbs.MemoryRegion;
import io.mooncake.rdma.verbs.PeerEnd;
import io.mooncake.rdma.verbs.Port;
import io.mooncake.rdma.verbs.ProtectionDomain;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.QueuePair;
import io.mooncake.rdma.verbs.WorkRequestRing;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToIntFunction;
import java.util.zip.CRC32C;

/**
 * The sender's end of a message lane, played by hand through the facade: it writes where and says what it likes. Over a simulated card or a
 * real one.
 */
final class RogueWriter implements AutoCloseable {
    private static final int DEPTH = 16;
    private static final int BULK_BYTES = EngineContext.MAX_MESSAGE_BYTES;
    private static final int RECEIVES = 4;
    private static final long RECEIVE_COOKIE = 1000;
    private static final ConnectionSettings SETTINGS = new ConnectionSettings(
            ConnectionSettings.Timers.DEFAULT, ConnectionSettings.Route.DEFAULT, 1, 1);

    private final EngineRig rig;
    private final EngineContext node;
    private final Deque<AutoCloseable> made = new ArrayDeque<>();
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate((DEPTH + RECEIVES) * (long) Frames.FRAME_BYTES + BULK_BYTES,
            4096);
    private final Port port;
    private final Gid gid;
    private final MemoryRegion registered;
    private final CompletionQueue completions;
    private final QueuePair queuePair;
    private final WorkRequestRing ring = new WorkRequestRing(DEPTH);
    private final Map<Long, Reply> replies = new HashMap<>();
    private final List<Keys> keys = new ArrayList<>();
    private final List<WorkStatus> ended = new ArrayList<>();
    private final ArrayDeque<MemorySegment> answers = new ArrayDeque<>();
    private int posted;
    private boolean closedByPeer;

    RogueWriter(EngineRig rig, MessageBus bus, Provider provider, String name) {
        this.rig = rig;
        NodeId id = new NodeId(name, 7);
        RegionTable regions = new RegionTable(id, (done, deadline) -> done.getAsBoolean(), rig::nowNs, 0);
        node = new EngineContext(id, "c", regions, new NoGuards(), new Counters(), rig::nowNs,
                new ControlChannel(new Counters()));
        bus.join(node);
        node.control().onMessage(Topic.LANES, (from, message) -> onMessage(LaneMessages.decode(message)));
        Context context = own(Device.list(provider).getFirst().open());
        ProtectionDomain domain = own(context.newProtectionDomain());
        port = context.port(1);
        gid = GidChoice.of(context.gids(port), null).orElseThrow().gid();
        registered = own(domain.register(memory.address(), memory.byteSize(), Access.LOCAL_WRITE));
        completions = own(context.newCompletionQueue(4 * DEPTH, null));
        queuePair = own(domain.newQueuePair(completions, new QueuePair.Capacity(DEPTH, RECEIVES, 0)));
    }

    private <T extends AutoCloseable> T own(T object) {
        made.push(object);
        return object;
    }

    private void onMessage(LaneMessage message) {
        switch (message) {
            case Reply reply -> replies.put(reply.lane(), reply);
            case Keys told -> keys.add(told);
            case LaneMessage.Closed closed -> closedByPeer = true;
            default -> throw new AssertionError("the owner says " + message);
        }
    }

    /** Connects its one queue pair. */
    RogueWriter connect(NodeId to, Purpose purpose) {
        int packetNumber = 77;
        queuePair.toInit(port.number(), Access.LOCAL_READ);
        for (int i = 0; i < RECEIVES; i++) {
            receive(i);
        }
        LocalPath path = LocalPath.of(port, gid);
        node.control()
                .send(to, Topic.LANES, LaneMessages.encode(new Request(1, purpose, to.incarnation(), 1,
                        new PeerEnd(queuePair.number(), packetNumber, path.mtu(), port.lid(), gid.raw()))));
        rig.until(() -> replies.containsKey(1L));
        Reply reply = Objects.requireNonNull(replies.get(1L));
        queuePair.toReadyToReceive(path, reply.end(), SETTINGS);
        queuePair.toReadyToSend(packetNumber, SETTINGS);
        return this;
    }

    private void receive(int index) {
        queuePair.postReceive(RECEIVE_COOKIE + index, receiveAt(index).address(), Frames.FRAME_BYTES,
                registered.localKey());
    }

    private MemorySegment receiveAt(int index) {
        return memory.asSlice((DEPTH + index) * (long) Frames.FRAME_BYTES, Frames.FRAME_BYTES);
    }

    /** The keys of a region, for its lane that reads. */
    Keys keys(NodeId of, int region) {
        node.control().send(of, Topic.LANES, LaneMessages.encode(new LaneMessage.Query(1, region)));
        rig.until(() -> !keys.isEmpty());
        return keys.getFirst();
    }

    /** Fills a frame in and has it sent with the next {@link #post}. */
    RogueWriter send(ToIntFunction<MemorySegment> frame) {
        MemorySegment at = memory.asSlice(posted % DEPTH * (long) Frames.FRAME_BYTES, Frames.FRAME_BYTES);
        ring.send(posted++, true, false).local(at.address(), frame.applyAsInt(at), registered.localKey());
        return this;
    }

    /** Writes anywhere, with the next {@link #post}; one at a time. */
    RogueWriter write(byte[] bytes, long address, int key) {
        return write(bytes, 0, address, key);
    }

    /** The same out of another part of its buffer. */
    RogueWriter write(byte[] bytes, int part, long address, int key) {
        long at = (DEPTH + RECEIVES) * (long) Frames.FRAME_BYTES + part;
        MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, at, bytes.length);
        ring.write(posted++, true)
                .remote(address, key)
                .local(memory.address() + at, bytes.length,
                        registered.localKey());
        return this;
    }

    /** Seals as an honest writer would who wrote these bytes. */
    RogueWriter seal(Frames.Grant grant, byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return send(frame -> Frames.seal(frame, Topic.APPLICATION.number(), grant.number(), bytes.length,
                (int) crc.getValue()));
    }

    RogueWriter post() {
        int filled = ring.filled();
        assertEquals(filled, queuePair.post(ring));
        return this;
    }

    /** Looks at its completion queue. */
    RogueWriter poll() {
        int taken = completions.poll(CompletionQueue.BATCH);
        for (int i = 0; i < taken; i++) {
            Completion completion = completions.completion(i);
            if (completion.cookie() < RECEIVE_COOKIE) {
                ended.add(completion.status());
            } else if (completion.isSuccess()) {
                int index = (int) (completion.cookie() - RECEIVE_COOKIE);
                answers.add(MemorySegment.ofArray(
                        receiveAt(index).asSlice(0, completion.bytes()).toArray(ValueLayout.JAVA_BYTE)));
                receive(index);
            }
        }
        return this;
    }

    /** How everything posted so far has ended. */
    List<WorkStatus> ended() {
        rig.until(() -> poll().ended.size() == posted);
        return ended;
    }

    /** Asks for a grant, without waiting. */
    RogueWriter ask() {
        return send(Frames::ask).post();
    }

    boolean hasAnswer() {
        return !poll().answers.isEmpty();
    }

    /** The grant that was asked for. */
    Frames.Grant granted() {
        while (true) {
            rig.until(this::hasAnswer);
            MemorySegment answer = answers.remove();
            assertEquals(Frames.ANSWER, Frames.type(answer));
            if (Frames.number(answer) != 0) {
                return Frames.grant(answer);
            }
        }
    }

    boolean isClosedByPeer() {
        return closedByPeer;
    }

    @Override
    public void close() {
        while (!made.isEmpty()) {
            try {
                made.pop().close();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
        ring.close();
        arena.close();
    }
}
