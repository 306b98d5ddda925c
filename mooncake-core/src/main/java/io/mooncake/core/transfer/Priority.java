package io.mooncake.core.transfer;

/** Which of the reads that wait for one engine and peer are sent first. */
public enum Priority {
    /** Somebody waits for the bytes. */
    LOAD,
    /** Nobody does yet: replication, migration, prefetch. Sent when no LOAD waits. */
    BACKGROUND
}
