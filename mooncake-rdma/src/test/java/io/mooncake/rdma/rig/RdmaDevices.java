package io.mooncake.rdma.rig;

import io.mooncake.rdma.Rdma;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;

/** Says whether tests have a device: once a run, on the console, when they have none. */
public final class RdmaDevices {

    /** The system property that makes a missing device a failure: in the virtual machine there is one. */
    static final String REQUIRED = "mooncake.rdma.required";

    /** The system property that lets tests boot machines. */
    static final String MACHINES = "mooncake.machines";

    private RdmaDevices() {}

    /** The holder is initialised once, so the sentence is said once. */
    private static final class Absence {
        static final String SENTENCE = "no RDMA device, so the tests tagged 'rdma' are skipped (" + cause()
                + "); mvn -Psoft-roce verify runs them in a virtual machine";

        static {
            System.out.println("[mooncake-rdma] " + SENTENCE);
        }

        private static String cause() {
            Throwable cause = Rdma.unavailabilityCause();
            return cause == null ? "" : String.valueOf(cause.getMessage());
        }
    }

    /** Skips the test that calls it where there is no device, and fails it in the virtual machine. */
    public static void assume() {
        if (Rdma.isAvailable()) {
            return;
        }
        if (Boolean.getBoolean(REQUIRED)) {
            Assertions.fail("there must be an RDMA device here", Rdma.unavailabilityCause());
        }
        Assumptions.abort(Absence.SENTENCE);
    }

    /** Skips the test that calls it outside the virtual machine: it changes the machine's network. */
    public static void assumeSoftRoce() {
        Assumptions.assumeTrue(Boolean.getBoolean(REQUIRED),
                "it changes the machine's network, so it runs in the virtual machine only: mvn -Psoft-roce verify");
    }

    /** Skips the test that calls it where virtual machines are not to be booted. */
    public static void assumeMachines() {
        Assumptions.assumeTrue(Boolean.getBoolean(MACHINES),
                "it boots virtual machines: mvn -Psoft-roce verify -Dsoft-roce.machines=true");
    }
}
