package io.mooncake.rdma.verbs;

/** How a work request ended: {@code enum ibv_wc_status}, by its numbers. */
public enum WorkStatus {
    /** It did what it should; on a lane that is already broken this proves nothing. */
    SUCCESS("success"),
    /** The local buffer is too short or too long. */
    LOC_LEN_ERR("the local buffer has the wrong length"),
    /** The queue pair's own state; on Ethernet also a port that is down. */
    LOC_QP_OP_ERR("the queue pair failed here, or its port is down"),
    /** Reliable datagrams only. */
    LOC_EEC_OP_ERR("local end-to-end context"),
    /** The local key does not cover the local buffer. */
    LOC_PROT_ERR("the local key does not cover the local buffer"),
    /** It was outstanding when the queue pair went to error; it may or may not have been done. */
    WR_FLUSH_ERR("flushed: the queue pair was in error"),
    /** A memory window. */
    MW_BIND_ERR("memory window"),
    /** The peer's answer makes no sense. */
    BAD_RESP_ERR("a bad response of the peer"),
    /** A RECV whose buffer's key does not cover it. */
    LOC_ACCESS_ERR("the local key does not allow the WRITE that came"),
    /** The peer refused the request's form. */
    REM_INV_REQ_ERR("the peer calls the request invalid"),
    /** The peer's key is unknown there, does not cover the range, or does not allow this. */
    REM_ACCESS_ERR("the peer's key is gone, too short or does not allow it"),
    /** The peer could not do it. */
    REM_OP_ERR("the peer failed to do it"),
    /** No answer in all tries: the peer, its queue pair or the way to it is gone. */
    RETRY_EXC_ERR("no answer of the peer in all tries"),
    /** The peer had no RECV posted in all tries. */
    RNR_RETRY_EXC_ERR("the peer was not ready to receive in all tries"),
    /** Reliable datagrams only. */
    LOC_RDD_VIOL_ERR("reliable datagram domain"),
    /** Reliable datagrams only. */
    REM_INV_RD_REQ_ERR("invalid reliable datagram request"),
    /** The peer aborted it. */
    REM_ABORT_ERR("aborted by the peer"),
    /** Reliable datagrams only. */
    INV_EECN_ERR("end-to-end context number"),
    /** Reliable datagrams only. */
    INV_EEC_STATE_ERR("end-to-end context state"),
    /** The device failed. */
    FATAL_ERR("the device failed"),
    /** The peer did not answer in time. */
    RESP_TIMEOUT_ERR("the peer did not answer in time"),
    /** Anything else. */
    GENERAL_ERR("general error");

    private final String meaning;

    WorkStatus(String meaning) {
        this.meaning = meaning;
    }

    /**
     * What it means, for messages.
     *
     * @return a part of a sentence
     */
    public String meaning() {
        return meaning;
    }

    /**
     * By its number.
     *
     * @param number the library's
     * @return {@link #GENERAL_ERR} for one that is not known
     */
    public static WorkStatus of(int number) {
        return number >= 0 && number < GENERAL_ERR.ordinal() ? values()[number] : GENERAL_ERR;
    }
}
