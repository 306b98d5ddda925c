package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.rdma.verbs.Completion;

/** One end of a message lane, as its card's completion queue knows it. The poller's. */
interface MessageEnd {
    /** Its queue pair and buffers. */
    FrameQueue frames();

    /**
     * One of its requests has ended, or a frame has come.
     *
     * @throws MooncakeException PROTOCOL_ERROR for what the peer must not send
     */
    void onCompletion(Completion completion);

    /** It is of no use any more. */
    void onBroken(MooncakeException cause);
}
