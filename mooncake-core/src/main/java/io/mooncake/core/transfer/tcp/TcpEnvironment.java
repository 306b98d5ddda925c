package io.mooncake.core.transfer.tcp;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.security.SecureRandom;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.random.RandomGenerator;

/**
 * What is injected into the TCP engine rather than set. Immutable.
 *
 * @param random gives the handshake's nonces, so nobody must be able to foretell it; and jitter
 * @param lookups runs look-ups of host names, which block
 * @param names looks up
 */
public record TcpEnvironment(RandomGenerator random, Executor lookups, Names names) {
    /** How a host's name is looked up. May block. */
    @FunctionalInterface
    public interface Names {
        /**
         * Looks up.
         *
         * @param host a name
         * @return its address
         * @throws UnknownHostException when it has none
         */
        InetAddress find(String host) throws UnknownHostException;
    }

    /**
     * The system's.
     *
     * @param threads makes a thread for each look-up of a name; none for addresses
     * @return what every node uses outside of tests
     */
    public static TcpEnvironment system(ThreadFactory threads) {
        return new TcpEnvironment(new SecureRandom(), lookup -> threads.newThread(lookup).start(),
                InetAddress::getByName);
    }
}
