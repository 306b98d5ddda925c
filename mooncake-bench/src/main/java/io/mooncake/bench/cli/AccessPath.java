package io.mooncake.bench.cli;

/** The ways in which a replayed request gets at a block. */
enum AccessPath {
    /** The block is on this node and used where it lies. */
    LOCAL_VIEW("local view", "localView"),
    /** The block is on this node and copied into the request's own memory. */
    LOCAL_COPY("local copy", "localCopy"),
    /** The block is on another node, is pulled into this node's pool and used there. */
    REMOTE_PULL("remote pull", "remotePull"),
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

    /** Whether it is there only where nodes have files. */
    boolean isOfFiles() {
        return this == LOCAL_FILE || this == REMOTE_FILE;
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
