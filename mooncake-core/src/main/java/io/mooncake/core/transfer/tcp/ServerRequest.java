package io.mooncake.core.transfer.tcp;

/** One request that a {@link ServerLane} is answering. Reused. */
final class ServerRequest {
    /** {@link #status} of a request that is still to be answered with bytes, or with a REGION. */
    static final int ACTIVE = -1;

    /** READ, QUERY or PING. */
    byte kind;
    long cookie;
    int region;
    boolean guarded;
    long keyEpoch;
    long offset;
    long length;
    long guardOffset;
    long expected;
    /** Bytes sent. */
    long position;
    /** {@link #ACTIVE}, or what END will say. */
    int status;
    String text = "";
}
