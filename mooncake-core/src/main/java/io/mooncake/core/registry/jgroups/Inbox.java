package io.mooncake.core.registry.jgroups;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.RegistryMessage;
import io.mooncake.core.registry.RegistryMessage.LatestLife;
import io.mooncake.core.registry.RegistryMessage.WhichLife;
import io.mooncake.core.registry.ReplicatedRegistry;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jgroups.Address;
import org.jgroups.MergeView;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What JGroups brings: its threads only put it here, this one's takes it in. Messages beyond {@value #MAX_BYTES} bytes are dropped, which
 * the registry notices and repairs; of views the last one counts.
 */
final class Inbox implements Receiver, Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Inbox.class);
    static final long MAX_BYTES = 64L << 20;
    private static final long PARK_NS = 100_000_000;

    /** A message of a member: of an address, or of a node that proved who it is. */
    private static final class Letter {
        final @Nullable Address from;
        final @Nullable NodeId life;
        final byte[] bytes;

        Letter(@Nullable Address from, @Nullable NodeId life, byte[] bytes) {
            this.from = from;
            this.life = life;
            this.bytes = bytes;
        }
    }

    private final ReplicatedRegistry registry;
    private final Consumer<RegistryMessage> handled;
    private final Runnable newcomers;
    private final Supplier<Address> self;
    private final ConcurrentLinkedQueue<Letter> letters = new ConcurrentLinkedQueue<>();
    private final AtomicLong waitingBytes = new AtomicLong();
    private final AtomicLong rejoins = new AtomicLong();
    /** Where a name was heard from last; read by whoever sends. */
    private final Map<String, Address> addresses = new ConcurrentHashMap<>();
    /** The view that is to be taken in. */
    private final AtomicReference<@Nullable View> view = new AtomicReference<>();
    private volatile @Nullable Thread thread;
    private volatile Set<Address> strangers = Set.of();
    private volatile boolean closed;

    // ---- this thread's own
    private Set<Address> members = Set.of();
    private final Map<Address, NodeId> lives = new HashMap<>();

    /**
     * An inbox.
     *
     * @param registry takes the messages in
     * @param handled is told each message that could be read
     * @param newcomers is told when there are new {@link #strangers}
     * @param self this node's own address
     */
    Inbox(ReplicatedRegistry registry, Consumer<RegistryMessage> handled, Runnable newcomers,
            Supplier<Address> self) {
        this.registry = registry;
        this.self = self;
        this.handled = handled;
        this.newcomers = newcomers;
    }

    // ---- JGroups' threads

    @Override
    public void receive(Message message) {
        byte[] bytes = message.getArray();
        if (bytes == null) {
            return;
        }
        int from = message.getOffset();
        byte[] copy = Arrays.copyOfRange(bytes, from, from + message.getLength());
        add(new Letter(message.getSrc(), null, copy));
    }

    /** A poller: a message that came by this library's own connections. */
    void receive(NodeId from, byte[] message) {
        add(new Letter(null, from, message));
    }

    private void add(Letter letter) {
        if (closed || waitingBytes.addAndGet(letter.bytes.length) > MAX_BYTES) {
            waitingBytes.addAndGet(-letter.bytes.length);
            return;
        }
        letters.add(letter);
        LockSupport.unpark(thread);
    }

    @Override
    public void viewAccepted(View accepted) {
        if (accepted instanceof MergeView) {
            rejoins.incrementAndGet();
        }
        view.set(accepted);
        LockSupport.unpark(thread);
    }

    // ---- any thread

    /** Where a node is reached; null when it was not heard of. */
    @Nullable
    Address address(String name) {
        return addresses.get(name);
    }

    /** Members that have not said who they are. */
    Set<Address> strangers() {
        return strangers;
    }

    long rejoins() {
        return rejoins.get();
    }

    void close() {
        closed = true;
        LockSupport.unpark(thread);
    }

    // ---- this thread

    @Override
    public void run() {
        thread = Thread.currentThread();
        while (!closed) {
            Letter letter = letters.poll();
            if (letter != null) {
                waitingBytes.addAndGet(-letter.bytes.length);
            }
            try {
                takeView();
                if (letter != null) {
                    take(letter);
                }
            } catch (RuntimeException e) {
                // One message of one peer must not be the end of all others.
                LOG.error("a view, or a message, could not be taken in; the next one is", e);
            }
            if (letter == null && view.get() == null) {
                LockSupport.parkNanos(this, PARK_NS);
            }
        }
    }

    private void takeView() {
        View now = view.getAndSet(null);
        if (now == null) {
            return;
        }
        Set<Address> before = members;
        members = new HashSet<>(now.getMembers());
        LOG.info("members are {}", now);
        for (Address gone : before) {
            NodeId life = members.contains(gone) ? null : lives.remove(gone);
            if (life != null) {
                addresses.remove(life.name(), gone);
                registry.onDead(life, "it is not a member any more: it left, or was not heard of in time");
            }
        }
        findStrangers();
        if (!before.containsAll(members)) {
            newcomers.run();
        }
    }

    private void findStrangers() {
        Set<Address> unknown = new HashSet<>(members);
        unknown.removeAll(lives.keySet());
        unknown.remove(self.get());
        strangers = Set.copyOf(unknown);
    }

    private void take(Letter letter) {
        Address from = letter.from;
        if (from == null ? !lives.containsValue(letter.life) : !members.contains(from)) {
            // Late, of somebody who is dead; when he is back he says it again.
            return;
        }
        RegistryMessage message = registry.onMessage(letter.bytes);
        if (message == null) {
            return;
        }
        NodeId sender = message.sender();
        if (from != null && message instanceof WhichLife) {
            addresses.put(sender.name(), from);
        } else if (from != null && !(message instanceof LatestLife) && !sender.equals(lives.put(from, sender))) {
            addresses.put(sender.name(), from);
            findStrangers();
            registry.onMember(sender);
        }
        handled.accept(message);
    }
}
