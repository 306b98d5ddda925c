package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table by which a read's bytes find their way. */
final class DestinationPathTest {
    @ParameterizedTest
    @CsvSource({"true, 8, 0, true, DIRECT", "true, 8, 0, false, DIRECT", "true, 1048576, 9999999, true, DIRECT",
            "false, 8, 0, true, BOUNCE", "false, 65536, 0, true, BOUNCE", "false, 65537, 0, true, REGISTER",
            "false, 8, 1048575, true, BOUNCE", "false, 8, 1048576, true, REGISTER", "false, 8, 0, false, REGISTER",
            "false, 1048576, 0, true, REGISTER"})
    void shouldChoose(boolean registered, long readBytes, long bouncedBytes, boolean room, DestinationPath expected) {
        assertEquals(expected, DestinationPath.of(registered, readBytes, bouncedBytes, room));
    }
}
