package io.mooncake.core.transfer.tcp;

import java.security.SecureRandom;
import java.util.random.RandomGenerator;

/**
 * What is injected into the TCP engine rather than set. Immutable.
 *
 * @param random gives the handshake's nonces: nobody must be able to foretell it
 */
public record TcpEnvironment(RandomGenerator random) {
    /**
     * The system's.
     *
     * @return what every node uses outside of tests
     */
    public static TcpEnvironment system() {
        return new TcpEnvironment(new SecureRandom());
    }
}
