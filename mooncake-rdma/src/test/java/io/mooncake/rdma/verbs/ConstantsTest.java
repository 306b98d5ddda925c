package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.VerbsLibrary;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The facade's own numbers against those that were generated from the header. */
class ConstantsTest {

    @BeforeAll
    static void needsTheLibrary() {
        assumeTrue(VerbsLibrary.failure() == null, () -> "libibverbs is needed: " + VerbsLibrary.failure());
    }

    @Test
    void shouldEqualTheHeadersNumbers() {
        assertEquals(Verbs.IBV_LINK_LAYER_ETHERNET(), Constants.LINK_LAYER_ETHERNET);
        assertEquals(Verbs.IBV_QPT_RC(), Constants.QPT_RC);
        assertEquals(List.of(Verbs.IBV_WR_RDMA_WRITE(), Verbs.IBV_WR_SEND(), Verbs.IBV_WR_RDMA_READ()),
                List.of(Constants.WR_RDMA_WRITE, Constants.WR_SEND, Constants.WR_RDMA_READ));
        assertEquals(List.of(Verbs.IBV_SEND_FENCE(), Verbs.IBV_SEND_SIGNALED(), Verbs.IBV_SEND_INLINE()),
                List.of(Constants.SEND_FENCE, Constants.SEND_SIGNALED, Constants.SEND_INLINE));
        assertEquals(
                List.of(Verbs.IBV_ACCESS_LOCAL_WRITE(), Verbs.IBV_ACCESS_REMOTE_WRITE(),
                        Verbs.IBV_ACCESS_REMOTE_READ()),
                List.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ));
        assertEquals(
                List.of(Verbs.IBV_QP_STATE(), Verbs.IBV_QP_ACCESS_FLAGS(), Verbs.IBV_QP_PKEY_INDEX(),
                        Verbs.IBV_QP_PORT(),
                        Verbs.IBV_QP_AV(), Verbs.IBV_QP_PATH_MTU(), Verbs.IBV_QP_TIMEOUT(), Verbs.IBV_QP_RETRY_CNT(),
                        Verbs.IBV_QP_RNR_RETRY(), Verbs.IBV_QP_RQ_PSN(), Verbs.IBV_QP_MAX_QP_RD_ATOMIC(),
                        Verbs.IBV_QP_MIN_RNR_TIMER(), Verbs.IBV_QP_SQ_PSN(), Verbs.IBV_QP_MAX_DEST_RD_ATOMIC(),
                        Verbs.IBV_QP_DEST_QPN()),
                List.of(Constants.QP_STATE, Constants.QP_ACCESS_FLAGS, Constants.QP_PKEY_INDEX, Constants.QP_PORT,
                        Constants.QP_AV, Constants.QP_PATH_MTU, Constants.QP_TIMEOUT, Constants.QP_RETRY_CNT,
                        Constants.QP_RNR_RETRY, Constants.QP_RQ_PSN, Constants.QP_MAX_QP_RD_ATOMIC,
                        Constants.QP_MIN_RNR_TIMER, Constants.QP_SQ_PSN, Constants.QP_MAX_DEST_RD_ATOMIC,
                        Constants.QP_DEST_QPN));
    }

    @Test
    void shouldEqualTheHeadersEnumerations() {
        equal(QueuePair.State::of, List.of(Verbs.IBV_QPS_RESET(), Verbs.IBV_QPS_INIT(), Verbs.IBV_QPS_RTR(),
                Verbs.IBV_QPS_RTS(), Verbs.IBV_QPS_SQD(), Verbs.IBV_QPS_SQE(), Verbs.IBV_QPS_ERR()),
                "RESET, INIT, RTR, RTS, SQD, SQE, ERR");
        equal(Port.PortState::of, List.of(Verbs.IBV_PORT_NOP(), Verbs.IBV_PORT_DOWN(), Verbs.IBV_PORT_INIT(),
                Verbs.IBV_PORT_ARMED(), Verbs.IBV_PORT_ACTIVE(), Verbs.IBV_PORT_ACTIVE_DEFER()),
                "NOP, DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER");
        equal(PathMtu::of, List.of(Verbs.IBV_MTU_256(), Verbs.IBV_MTU_512(), Verbs.IBV_MTU_1024(), Verbs.IBV_MTU_2048(),
                Verbs.IBV_MTU_4096()), "MTU_256, MTU_512, MTU_1024, MTU_2048, MTU_4096");
        equal(Gid.Type::of,
                List.of(Verbs.IBV_GID_TYPE_IB(), Verbs.IBV_GID_TYPE_ROCE_V1(), Verbs.IBV_GID_TYPE_ROCE_V2()),
                "INFINIBAND, ROCE_V1, ROCE_V2");
        equal(WorkStatus::of, List.of(Verbs.IBV_WC_SUCCESS(), Verbs.IBV_WC_LOC_PROT_ERR(), Verbs.IBV_WC_WR_FLUSH_ERR(),
                Verbs.IBV_WC_REM_ACCESS_ERR(), Verbs.IBV_WC_REM_OP_ERR(), Verbs.IBV_WC_RETRY_EXC_ERR(),
                Verbs.IBV_WC_RNR_RETRY_EXC_ERR(), Verbs.IBV_WC_FATAL_ERR(), Verbs.IBV_WC_RESP_TIMEOUT_ERR(),
                Verbs.IBV_WC_GENERAL_ERR()),
                "SUCCESS, LOC_PROT_ERR, WR_FLUSH_ERR, REM_ACCESS_ERR, REM_OP_ERR, RETRY_EXC_ERR, RNR_RETRY_EXC_ERR, "
                        + "FATAL_ERR, RESP_TIMEOUT_ERR, GENERAL_ERR");
        equal(AsyncEvent.Type::of, List.of(Verbs.IBV_EVENT_CQ_ERR(), Verbs.IBV_EVENT_QP_FATAL(),
                Verbs.IBV_EVENT_QP_ACCESS_ERR(), Verbs.IBV_EVENT_DEVICE_FATAL(), Verbs.IBV_EVENT_PORT_ACTIVE(),
                Verbs.IBV_EVENT_PORT_ERR(), Verbs.IBV_EVENT_LID_CHANGE(), Verbs.IBV_EVENT_GID_CHANGE(),
                Verbs.IBV_EVENT_WQ_FATAL()),
                "CQ_ERR, QP_FATAL, QP_ACCESS_ERR, DEVICE_FATAL, PORT_ACTIVE, PORT_ERR, LID_CHANGE, GID_CHANGE, WQ_FATAL");
    }

    private static void equal(IntFunction<Enum<?>> named, List<Integer> numbers, String names) {
        assertEquals(names, String.join(", ", numbers.stream().map(number -> named.apply(number).name()).toList()));
    }

    /** The library's own word for each status, so that none is off by one. */
    @Test
    void shouldKnowEveryStatusThatTheLibraryKnows() {
        assertEquals("success", Verbs.ibv_wc_status_str(0).getString(0));
        assertTrue(Verbs.ibv_wc_status_str(WorkStatus.GENERAL_ERR.ordinal()).getString(0).contains("general"));
        assertEquals(WorkStatus.GENERAL_ERR, WorkStatus.of(99));
        assertEquals(AsyncEvent.Type.UNKNOWN, AsyncEvent.Type.of(99));
        assertEquals(QueuePair.State.UNKNOWN, QueuePair.State.of(99));
    }
}
