package io.mooncake.rdma.verbs;

/** The errno values of Linux that libibverbs gives. */
final class Errno {
    static final int EPERM = 1;
    static final int EIO = 5;
    static final int EAGAIN = 11;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int EFAULT = 14;
    static final int EBUSY = 16;
    static final int ENODEV = 19;
    static final int EINVAL = 22;
    static final int EMFILE = 24;
    static final int ENOSYS = 38;
    static final int ENODATA = 61;
    static final int EOPNOTSUPP = 95;
    static final int ENETUNREACH = 101;
    static final int ETIMEDOUT = 110;
    static final int EHOSTUNREACH = 113;

    private Errno() {}

    /** For example {@code ENOMEM (12)}. */
    static String text(int errno) {
        String name = switch (errno) {
            case EPERM -> "EPERM";
            case EIO -> "EIO";
            case EAGAIN -> "EAGAIN";
            case ENOMEM -> "ENOMEM";
            case EACCES -> "EACCES";
            case EFAULT -> "EFAULT";
            case EBUSY -> "EBUSY";
            case ENODEV -> "ENODEV";
            case EINVAL -> "EINVAL";
            case EMFILE -> "EMFILE";
            case ENOSYS -> "ENOSYS";
            case ENODATA -> "ENODATA";
            case EOPNOTSUPP -> "EOPNOTSUPP";
            case ENETUNREACH -> "ENETUNREACH";
            case ETIMEDOUT -> "ETIMEDOUT";
            case EHOSTUNREACH -> "EHOSTUNREACH";
            default -> "errno";
        };
        return name + " (" + errno + ")";
    }
}
