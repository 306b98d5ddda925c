package io.mooncake.cuda.runtime;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.Set;

/**
 * A call of the CUDA runtime that failed: which one, of what, with which error, and what to do about it. Only inside the module; what leaves
 * it is {@link #asMooncake()}.
 */
public final class CudaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    static final int INVALID_VALUE = 1;
    static final int OUT_OF_MEMORY = 2;
    static final int NOT_READY = 600;
    static final int PEER_ALREADY_ENABLED = 704;
    static final int HOST_ALREADY_REGISTERED = 712;

    /**
     * After these the context is gone, says the runtime's reference: an uncorrectable error of memory or NVLink, a launch that timed out, an
     * illegal address, an assertion, a fault of the hardware stack, an illegal instruction, misalignment, a wrong address space or
     * program counter, a launch failure, and a context that was destroyed.
     */
    private static final Set<Integer> FATAL = Set.of(214, 220, 226, 702, 700, 709, 710, 714, 715, 716, 717, 718, 719);

    /** The call's name. */
    private final String call;
    /** Of what, with what. */
    private final String arguments;
    /** Why. */
    private final int code;
    /** What to do. */
    private final String remedy;
    /** Whether the device was lost before. */
    private final boolean lost;

    /**
     * A failed call.
     *
     * @param call its name in the runtime
     * @param arguments of what and with what, as a reader of the message would say it
     * @param code the error, positive
     * @param text the error's name and meaning
     */
    public CudaException(String call, String arguments, int code, String text) {
        super(call + "(" + arguments + "): " + text + ": " + remedy(code));
        this.call = call;
        this.arguments = arguments;
        this.code = code;
        this.remedy = remedy(code);
        lost = false;
    }

    /** Of a use of a device that is lost. */
    CudaException(String use, CudaException loss) {
        super(use + ": the device was lost before: " + loss.getMessage(), loss);
        call = loss.call;
        arguments = loss.arguments;
        code = loss.code;
        remedy = loss.remedy;
        lost = true;
    }

    /**
     * The call.
     *
     * @return its name in the runtime
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
     * @return the error, positive
     */
    public int code() {
        return code;
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
     * Whether the device's context is gone with it.
     *
     * @return true when nothing on the device works from now on
     */
    public boolean isFatal() {
        return lost || FATAL.contains(code);
    }

    /**
     * The same as the one exception that users see.
     *
     * @return with this as its cause
     */
    public MooncakeException asMooncake() {
        Kind kind = isFatal() ? Kind.DEVICE_LOST : switch (code) {
            case OUT_OF_MEMORY -> Kind.OUT_OF_MEMORY;
            case HOST_ALREADY_REGISTERED -> Kind.IN_USE;
            case 801 -> Kind.UNSUPPORTED;
            default -> Kind.CONFIG_ERROR;
        };
        return new MooncakeException(kind, String.valueOf(getMessage()), this);
    }

    private static String remedy(int code) {
        if (FATAL.contains(code)) {
            return "everything on this device is lost until the process is started again; look for Xid in the kernel's log,"
                    + " and run compute-sanitizer over the kernels that ran before";
        }
        return switch (code) {
            case INVALID_VALUE -> "an address, size or flag that the device does not take";
            case OUT_OF_MEMORY -> "make the reservation smaller, or see with nvidia-smi who has the memory";
            case 3, 4, 35, 100 -> "check nvidia-smi and the driver's version";
            case 101 -> "there is no device of that number: see CUDA_VISIBLE_DEVICES";
            case HOST_ALREADY_REGISTERED -> "a part of it was pinned before: pin memory once";
            case 304 -> "too many handles of the system are in use: raise the limits";
            case 400 -> "the stream or event was destroyed, or is another device's";
            case 801 -> "device, driver or system do not have this";
            default -> "see the runtime's reference, cudaError_t";
        };
    }
}
