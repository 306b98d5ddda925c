package io.mooncake.rdma.verbs;

/**
 * What a device told beside its completions (man ibv_get_async_event). Immutable.
 *
 * @param type what happened
 * @param port the port it is about; 0 when it is about no port
 * @param queuePair the number of the queue pair it is about; 0 when it is about none
 * @param code the library's number of the type
 */
public record AsyncEvent(Type type, int port, int queuePair, int code) {

    /** {@code enum ibv_event_type}, by its numbers. */
    public enum Type {
        /** A completion queue overflowed or failed: it is dead, with every queue pair on it. */
        CQ_ERR(About.CQ),
        /** A queue pair failed. */
        QP_FATAL(About.QP),
        /** A peer's request was invalid. */
        QP_REQ_ERR(About.QP),
        /** A peer's request had no right. */
        QP_ACCESS_ERR(About.QP),
        /** The first packet came. */
        COMM_EST(About.QP),
        /** The send queue ran empty, as asked. */
        SQ_DRAINED(About.QP),
        /** Moved to the other path. */
        PATH_MIG(About.QP),
        /** Could not move to the other path. */
        PATH_MIG_ERR(About.QP),
        /** The device is lost. */
        DEVICE_FATAL(About.DEVICE),
        /** A port came up. */
        PORT_ACTIVE(About.PORT),
        /** A port went down. */
        PORT_ERR(About.PORT),
        /** A port's InfiniBand address changed. */
        LID_CHANGE(About.PORT),
        /** A port's partitions changed. */
        PKEY_CHANGE(About.PORT),
        /** A port's subnet manager changed. */
        SM_CHANGE(About.PORT),
        /** A shared receive queue failed. */
        SRQ_ERR(About.SRQ),
        /** A shared receive queue runs low. */
        SRQ_LIMIT_REACHED(About.SRQ),
        /** A queue pair in error took its last request from a shared receive queue. */
        QP_LAST_WQE_REACHED(About.QP),
        /** The subnet manager asks to register anew. */
        CLIENT_REREGISTER(About.PORT),
        /** A port's GID table changed. */
        GID_CHANGE(About.PORT),
        /** A work queue failed. */
        WQ_FATAL(About.WQ),
        /** One that this library does not know. */
        UNKNOWN(About.DEVICE);

        /** What the event's element is. */
        enum About {
            CQ, QP, SRQ, WQ, PORT, DEVICE
        }

        final About about;

        Type(About about) {
            this.about = about;
        }

        static Type of(int number) {
            return number >= 0 && number < UNKNOWN.ordinal() ? values()[number] : UNKNOWN;
        }
    }
}
