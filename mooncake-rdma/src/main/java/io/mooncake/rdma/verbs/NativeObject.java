package io.mooncake.rdma.verbs;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * An object of libibverbs with its owner's duties: closed by whoever made it, once, and not while something made from it lives. There is
 * no finalizer: what is not closed stays until the process ends. Closing is for any thread; a second close does nothing.
 */
abstract sealed class NativeObject implements AutoCloseable permits Context, ProtectionDomain, MemoryRegion,
        CompletionChannel, CompletionQueue, QueuePair {

    /** Busy objects name a few of what keeps them, not all. */
    private static final int NAMED_CHILDREN = 5;

    final Provider provider;
    private final String name;
    private final List<NativeObject> parents;
    private final Set<NativeObject> children = new LinkedHashSet<>();
    private long handle;
    private volatile boolean closed;

    /**
     * Makes the native object while its parents are kept from closing; others may be made of them meanwhile.
     *
     * @param call the call's name, for the error
     * @param make answers with the object's address or the negated errno
     */
    NativeObject(Provider provider, String name, List<NativeObject> parents, String call, LongSupplier make) {
        this.provider = provider;
        this.name = name;
        this.parents = parents;
        boolean made = false;
        try {
            parents.forEach(this::join);
            handle = VerbsException.check(make.getAsLong(), call, name);
            made = true;
        } finally {
            if (!made) {
                leaveParents();
            }
        }
    }

    private void join(NativeObject parent) {
        synchronized (parent) {
            parent.requireOpen();
            parent.children.add(this);
        }
    }

    private void leaveParents() {
        for (NativeObject parent : parents) {
            synchronized (parent) {
                parent.children.remove(this);
            }
        }
    }

    /** The library's address of it. */
    final long handle() {
        requireOpen();
        return handle;
    }

    final void requireOpen() {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
    }

    /**
     * Whether it was closed.
     *
     * @return true since {@link #close} returned the first time
     */
    public final boolean isClosed() {
        return closed;
    }

    /** The call that destroys it. */
    abstract String destroyCall();

    /** Destroys the native object; 0 or the negated errno. */
    abstract int destroy(long object);

    /** Gives back what Java holds beside the native object. */
    void release() {}

    /**
     * Destroys it. A second time nothing happens.
     *
     * @throws VerbsException EBUSY, naming what must be closed first; or what the library says. Then it stays open, unless it was only what
     *     belongs to it that was not closed well.
     */
    @Override
    public final void close() {
        try {
            destroyOnce();
        } finally {
            if (closed) {
                leaveParents();
            }
        }
    }

    private synchronized void destroyOnce() {
        if (closed) {
            return;
        }
        if (!children.isEmpty()) {
            throw new VerbsException(destroyCall(), name, Errno.EBUSY, "close first: " + children.stream()
                    .limit(NAMED_CHILDREN)
                    .map(NativeObject::toString)
                    .collect(Collectors.joining(", ", "", children.size() > NAMED_CHILDREN
                            ? " and " + (children.size() - NAMED_CHILDREN) + " more"
                            : "")));
        }
        VerbsException.check(destroy(handle), destroyCall(), name);
        closed = true;
        release();
    }

    @Override
    public final String toString() {
        return name;
    }
}
