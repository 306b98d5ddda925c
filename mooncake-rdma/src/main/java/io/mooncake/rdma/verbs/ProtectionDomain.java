package io.mooncake.rdma.verbs;

import java.util.List;

/** What memory regions and queue pairs belong to: a queue pair reaches only regions of its own domain. Any thread. */
public final class ProtectionDomain extends NativeObject {

    private final Context context;

    ProtectionDomain(Context context) {
        super(context.provider, "protection domain of " + context, List.of(context), "ibv_alloc_pd",
                () -> context.provider.allocPd(context.handle()));
        this.context = context;
    }

    Context context() {
        return context;
    }

    /**
     * Registers memory of this process. Slow: every page is pinned, at about 2 ms a MiB of untouched memory at worst.
     *
     * @param address of the first byte, which is also how peers name it
     * @param length bytes
     * @param access {@link Access} flags; relaxed ordering is never asked for, since guards depend on order
     * @return to be closed before the memory is unmapped
     * @throws VerbsException ENOMEM over the limit of locked memory, EFAULT for memory that is not mapped as {@code access} needs
     */
    public MemoryRegion register(long address, long length, int access) {
        return new MemoryRegion(this, new MemoryRegion.Range(address, length, access),
                () -> provider.regMr(handle(), address, length, access), "ibv_reg_mr_iova2");
    }

    /**
     * Registers memory of another device.
     *
     * @param memory shared by dma-buf
     * @param access {@link Access} flags
     * @return to be closed before the buffer is
     * @throws VerbsException ENOSYS or EOPNOTSUPP where library, kernel or driver cannot
     */
    public MemoryRegion register(Provider.DmaBuf memory, int access) {
        return new MemoryRegion(this, new MemoryRegion.Range(memory.iova(), memory.length(), access),
                () -> provider.regDmabufMr(handle(), memory, access), "ibv_reg_dmabuf_mr");
    }

    /**
     * Makes a reliable connected queue pair.
     *
     * @param completions where both of its queues report
     * @param capacity what its queues are to hold
     * @return in state RESET, to be closed
     */
    public QueuePair newQueuePair(CompletionQueue completions, QueuePair.Capacity capacity) {
        return QueuePair.make(this, completions, capacity);
    }

    @Override
    String destroyCall() {
        return "ibv_dealloc_pd";
    }

    @Override
    int destroy(long object) {
        return provider.deallocPd(object);
    }
}
