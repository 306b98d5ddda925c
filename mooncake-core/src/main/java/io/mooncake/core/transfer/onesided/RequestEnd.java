package io.mooncake.core.transfer.onesided;

/** How the fabric says that one request ended. */
public enum RequestEnd {
    /** Reported as done. */
    OK,
    /** Failed; its lane is broken by that. */
    FAILED,
    /** Not carried out, because its lane is broken. */
    FLUSHED,
    /** Carried out, but what it brought could not be copied to where it goes: that was freed. Its lane is as before. */
    NO_DESTINATION
}
