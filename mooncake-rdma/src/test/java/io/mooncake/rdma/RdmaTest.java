package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.verbs.DeviceList;
import io.mooncake.rdma.verbs.ffi.VerbsLibrary;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The real libibverbs of this machine, with and without a device. */
class RdmaTest {

    @Test
    void shouldSayWhyInOneSentenceWhenTheRealLibraryHasNoDevice() {
        UnsatisfiedLinkError failure = VerbsLibrary.failure();
        assumeTrue(failure == null, () -> "libibverbs is needed: " + failure);
        assumeFalse(Rdma.isAvailable(), "this machine has an RDMA device");

        Throwable cause = Rdma.unavailabilityCause();

        assertNotNull(cause);
        String sentence = String.valueOf(cause.getMessage());
        assertTrue(sentence.contains("device") || sentence.contains("ib_uverbs"), sentence);
        assertFalse(sentence.contains("\n"), sentence);
        assertSame(cause, Rdma.unavailabilityCause());
        assertTrue(DeviceList.read().names().isEmpty());
    }

    @Test
    void shouldHaveACauseExactlyWhenUnavailable() {
        assertEquals(Rdma.isAvailable(), Rdma.unavailabilityCause() == null);
    }

    @Test
    @Tag("rdma")
    void shouldNameTheDevicesWhenThereAreSome() {
        RdmaDevices.assume();
        DeviceList devices = DeviceList.read();
        assertEquals(0, devices.errno());
        assertTrue(devices.names().stream().noneMatch(String::isBlank), () -> devices.toString());
    }
}
