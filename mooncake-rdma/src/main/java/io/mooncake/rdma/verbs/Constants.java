package io.mooncake.rdma.verbs;

/**
 * The numbers of {@code <infiniband/verbs.h>} that the facade uses. Its generated twins need the open library, which a simulated device
 * does without; a test compares them.
 */
final class Constants {
    static final int LINK_LAYER_ETHERNET = 2;

    static final int QPT_RC = 2;

    static final int WR_RDMA_WRITE = 0;
    static final int WR_SEND = 2;
    static final int WR_RDMA_READ = 4;

    static final int SEND_FENCE = 1;
    static final int SEND_SIGNALED = 1 << 1;
    static final int SEND_INLINE = 1 << 3;

    static final int QP_STATE = 1;
    static final int QP_ACCESS_FLAGS = 1 << 3;
    static final int QP_PKEY_INDEX = 1 << 4;
    static final int QP_PORT = 1 << 5;
    static final int QP_AV = 1 << 7;
    static final int QP_PATH_MTU = 1 << 8;
    static final int QP_TIMEOUT = 1 << 9;
    static final int QP_RETRY_CNT = 1 << 10;
    static final int QP_RNR_RETRY = 1 << 11;
    static final int QP_RQ_PSN = 1 << 12;
    static final int QP_MAX_QP_RD_ATOMIC = 1 << 13;
    static final int QP_MIN_RNR_TIMER = 1 << 15;
    static final int QP_SQ_PSN = 1 << 16;
    static final int QP_MAX_DEST_RD_ATOMIC = 1 << 17;
    static final int QP_DEST_QPN = 1 << 20;

    private Constants() {}
}
