package io.mooncake.core.transfer;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.BooleanSupplier;

/**
 * Registered memory: what transfers read from and write to. Any thread.
 *
 * <p>Its number is not used again in the life of the node. {@link #close()} ends new uses at once and returns when the last
 * outstanding one was released, so that the memory may be freed right after it.
 */
public final class Region implements AutoCloseable {
    private static final long CLOSED = 1L << 62;
    private static final VarHandle USES;

    static {
        try {
            USES = MethodHandles.lookup().findVarHandle(Region.class, "uses", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RegionTable table;
    private final int id;
    private final Memory memory;
    private final Access access;
    private final long keyEpoch;

    @SuppressWarnings("unused") // by USES
    private volatile long uses;

    Region(RegionTable table, int id, Memory memory, Access access, long keyEpoch) {
        this.table = table;
        this.id = id;
        this.memory = memory;
        this.access = access;
        this.keyEpoch = keyEpoch;
    }

    /**
     * The node's number of it.
     *
     * @return 1 and up
     */
    public int id() {
        return id;
    }

    /**
     * Whose engines know it.
     *
     * @return the node that it is registered with
     */
    public NodeId owner() {
        return table.owner();
    }

    /**
     * What was registered.
     *
     * @return its description
     */
    public Memory memory() {
        return memory;
    }

    /**
     * Bytes.
     *
     * @return more than 0
     */
    public long length() {
        return memory.length();
    }

    /**
     * What others may do with it.
     *
     * @return as registered
     */
    public Access access() {
        return access;
    }

    /**
     * Which registration of it is current; a request that names another is refused.
     *
     * @return 1 and up
     */
    public long keyEpoch() {
        return keyEpoch;
    }

    /**
     * Begins a use, for engines and transfers: the memory stays until {@link #release()}.
     *
     * @return false when the region is closed; then nothing was begun
     */
    public boolean retain() {
        if (((long) USES.getAndAdd(this, 1L) & CLOSED) != 0) {
            USES.getAndAdd(this, -1L);
            return false;
        }
        return true;
    }

    /** Ends a use. */
    public void release() {
        USES.getAndAdd(this, -1L);
    }

    /**
     * Uses outstanding.
     *
     * @return 0 and up
     */
    public long uses() {
        return (long) USES.getVolatile(this) & ~CLOSED;
    }

    /**
     * Whether {@link #close()} was called.
     *
     * @return true from the first call on
     */
    public boolean isClosed() {
        return ((long) USES.getVolatile(this) & CLOSED) != 0;
    }

    /**
     * Deregisters: no new use begins, and when this returns none is outstanding. The second time only waits.
     *
     * @throws MooncakeException IN_USE when uses are outstanding after the table's close time; call again then
     */
    @Override
    public void close() {
        USES.getAndBitwiseOr(this, CLOSED);
        table.remove(this);
        Waiter waiter = table.waiter();
        BooleanSupplier idle = () -> uses() == 0;
        if (!waiter.await(idle, table.closeDeadlineNs())) {
            throw new MooncakeException(Kind.IN_USE, this + " still has " + uses()
                    + " transfers outstanding: wait for them, then close it again before freeing its memory");
        }
    }

    @Override
    public String toString() {
        return "region r" + id + " of node " + table.owner();
    }
}
