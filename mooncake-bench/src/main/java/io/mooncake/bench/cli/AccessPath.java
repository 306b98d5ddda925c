package io.mooncake.bench.cli;

/** The ways in which a replayed request gets at a block. */
enum AccessPath {
    /** The block is on this node and used where it lies. */
    LOCAL_VIEW("local view", "localView"),
    /** The block is on this node and copied into the request's own memory. */
    LOCAL_COPY("local copy", "localCopy"),
    /** The block is on this node's device and used there; its bytes are copied out to be verified. */
    LOCAL_VRAM("local vram", "localVram"),
    /** The block is in this node's host memory and comes up to its device, where it is used. */
    LOCAL_DRAM("local dram", "localDram"),
    /** The block is on another node, is pulled into this node's pool and used there. */
    REMOTE_PULL("remote pull", "remotePull"),
    /** The block is on another node's device, comes down into that one's host memory, is pulled into this node's and used there. */
    REMOTE_VRAM("remote vram", "remoteVram"),
    /** The block is in this node's file, comes up into its pool and is used there. */
    LOCAL_FILE("local file", "localFile"),
    /** The block is in another node's file, comes up into that one's pool, is pulled into this node's and used there. */
    REMOTE_FILE("remote file", "remoteFile");

    private final String label;
    private final String key;

    AccessPath(String label, String key) {
        this.label = label;
        this.key = key;
    }

    /** How the requests of one turn of all nodes get at blocks that are on their node: by turns. */
    static AccessPath ofLocal(int turn) {
        return turn % 2 == 0 ? LOCAL_VIEW : LOCAL_COPY;
    }

    /** Whether it is there only where nodes have more tiers than host memory. */
    boolean isOfTiers() {
        return this != LOCAL_VIEW && this != LOCAL_COPY && this != REMOTE_PULL;
    }

    /** Its name for people. */
    String label() {
        return label;
    }

    /** Its name in JSON. */
    String key() {
        return key;
    }
}
