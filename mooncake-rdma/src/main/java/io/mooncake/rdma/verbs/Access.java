package io.mooncake.rdma.verbs;

/** What may be done with registered memory, and through a queue pair: the flags {@code IBV_ACCESS_} (man ibv_reg_mr). */
public final class Access {
    /** Only read, and only by this process's own requests. */
    public static final int LOCAL_READ = 0;
    /** Completions of READ and RECV land in it. */
    public static final int LOCAL_WRITE = 1;
    /** Peers WRITE into it; needs {@link #LOCAL_WRITE}. */
    public static final int REMOTE_WRITE = 1 << 1;
    /** Peers READ it. */
    public static final int REMOTE_READ = 1 << 2;

    private Access() {}
}
