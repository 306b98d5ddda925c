package io.mooncake.core.transfer.onesided;

/** How the fabric says that one request ended. */
public enum RequestEnd {
    /** Reported as done. */
    OK,
    /** Failed; its lane is broken by that. */
    FAILED,
    /** Not carried out, because its lane is broken. */
    FLUSHED
}
