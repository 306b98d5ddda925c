package io.mooncake.rdma.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.testing.CLayouts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The generated structures against the C compiler's, and against the figures that the engine is built on. */
class VerbsLayoutTest {

    @Test
    void shouldEqualWhatTheCCompilerSays(@TempDir Path folder) throws IOException {
        CLayouts.assertEqualInC(folder, "infiniband/verbs.h",
                List.of(ibv_send_wr.layout(), ibv_recv_wr.layout(), ibv_sge.layout(), ibv_wc.layout(),
                        ibv_mw_bind_info.layout(), ibv_qp_init_attr.layout(), ibv_qp_cap.layout(), ibv_qp_attr.layout(),
                        ibv_ah_attr.layout(), ibv_global_route.layout(), ibv_port_attr.layout(),
                        ibv_device_attr.layout(), ibv_device.layout(), ibv_context.layout(), ibv_context_ops.layout(),
                        ibv_comp_channel.layout(), ibv_async_event.layout(), ibv_cq.layout(), ibv_qp.layout(),
                        ibv_mr.layout(), ibv_pd.layout(), ibv_gid_entry.layout(), ibv_srq.layout(),
                        ibv_srq_init_attr.layout(), ibv_srq_attr.layout(), ibv_gid.layout()));
    }

    @Test
    void shouldHaveTheSizesAndOffsetsThatThisAbiFixed() {
        assertEquals(List.of(128L, 32L, 16L, 48L, 144L, 64L, 52L, 232L, 48L, 328L, 128L, 160L),
                List.of(ibv_send_wr.sizeof(), ibv_recv_wr.sizeof(), ibv_sge.sizeof(), ibv_wc.sizeof(),
                        ibv_qp_attr.sizeof(),
                        ibv_qp_init_attr.sizeof(), ibv_port_attr.sizeof(), ibv_device_attr.sizeof(), ibv_mr.sizeof(),
                        ibv_context.sizeof(), ibv_cq.sizeof(), ibv_qp.sizeof()));
        assertEquals(List.of(40L, 36L, 80L),
                List.of(ibv_send_wr.wr$offset(), ibv_send_wr.imm_data$offset(), ibv_send_wr.bind_mw$offset()));
        assertEquals(List.of(16L, 28L), List.of(ibv_wc.vendor_err$offset(), ibv_wc.qp_num$offset()));
        assertEquals(List.of(36L, 40L), List.of(ibv_mr.lkey$offset(), ibv_mr.rkey$offset()));
        // Of ibv_context, for the calls that verbs.h inlines: they go through its table of functions.
        long ops = ibv_context.ops$offset();
        assertEquals(List.of(8L, 96L, 104L, 208L, 216L),
                List.of(ops, ops + ibv_context_ops.poll_cq$offset(), ops + ibv_context_ops.req_notify_cq$offset(),
                        ops + ibv_context_ops.post_send$offset(), ops + ibv_context_ops.post_recv$offset()));
    }
}
