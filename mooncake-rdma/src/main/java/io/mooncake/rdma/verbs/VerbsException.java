package io.mooncake.rdma.verbs;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * A call of libibverbs that failed: which one, of what, with which errno, and what to do about it. Only inside the module; what leaves
 * it is {@link #asMooncake()}.
 */
public final class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The call's name. */
    private final String call;
    /** Of what, with what. */
    private final String arguments;
    /** Why. */
    private final int errno;
    /** What to do. */
    private final String remedy;

    /**
     * A failed call.
     *
     * @param call its name in libibverbs
     * @param arguments of what and with what, as a reader of the message would say it
     * @param errno the errno value, positive
     */
    public VerbsException(String call, String arguments, int errno) {
        this(call, arguments, errno, remedy(call, errno));
    }

    /**
     * A failed call whose remedy the caller knows.
     *
     * @param call its name in libibverbs
     * @param arguments of what and with what
     * @param errno the errno value, positive
     * @param remedy what to do
     */
    public VerbsException(String call, String arguments, int errno, String remedy) {
        super(call + "(" + arguments + "): " + Errno.text(errno) + ": " + remedy);
        this.call = call;
        this.arguments = arguments;
        this.errno = errno;
        this.remedy = remedy;
    }

    /** Answers with what a call gave, or throws when that is a negated errno. */
    static long check(long result, String call, Object arguments) {
        if (result < 0) {
            throw new VerbsException(call, arguments.toString(), (int) -result);
        }
        return result;
    }

    /**
     * The call.
     *
     * @return its name in libibverbs
     */
    public String call() {
        return call;
    }

    /**
     * Of what and with what it was called.
     *
     * @return for readers
     */
    public String arguments() {
        return arguments;
    }

    /**
     * Why it failed.
     *
     * @return the errno value, positive
     */
    public int errno() {
        return errno;
    }

    /**
     * What to do about it.
     *
     * @return a sentence
     */
    public String remedy() {
        return remedy;
    }

    /**
     * The same as the one exception that users see.
     *
     * @return with this as its cause
     */
    public MooncakeException asMooncake() {
        Kind kind = switch (errno) {
            case Errno.ENOMEM -> Kind.OUT_OF_MEMORY;
            case Errno.EBUSY -> Kind.IN_USE;
            case Errno.EAGAIN, Errno.EMFILE -> Kind.BACK_PRESSURE;
            case Errno.EIO, Errno.ENODEV, Errno.ETIMEDOUT, Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
                Kind.PEER_UNREACHABLE;
            case Errno.ENOSYS, Errno.EOPNOTSUPP -> Kind.UNSUPPORTED;
            default -> Kind.CONFIG_ERROR;
        };
        return new MooncakeException(kind, String.valueOf(getMessage()), this);
    }

    private static String remedy(String call, int errno) {
        return switch (errno) {
            case Errno.ENOMEM -> call.startsWith("ibv_reg")
                    ? "raise the locked-memory limit (ulimit -l unlimited, LimitMEMLOCK=infinity), or register less"
                    : "the device or the kernel has no more of these: ask for fewer or smaller ones";
            case Errno.EPERM, Errno.EACCES -> "give this user the right to read and write /dev/infiniband/uverbs*";
            case Errno.EFAULT ->
                "the memory must be mapped, and writable where the access asks for writing: map it so before registering";
            case Errno.EBUSY -> "close what was made from it first";
            case Errno.ENODEV, Errno.EIO -> "the device is gone or was reset: open it anew";
            case Errno.EMFILE -> "raise the limit of open files (ulimit -n)";
            case Errno.ENOSYS, Errno.EOPNOTSUPP ->
                "kernel, driver or library do not have this: update them (rdma-core), or do without";
            case Errno.ETIMEDOUT, Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
                "the peer's address did not resolve: check its GID, link and routes";
            case Errno.EINVAL -> "a size, state or flag that the device does not take: compare with ibv_devinfo -v";
            default -> "see man " + call;
        };
    }
}
