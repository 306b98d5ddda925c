package io.mooncake.core;

/** What an agent's thread does when there is nothing to do. */
public enum IdleMode {
    /** Spins, then yields, then parks until there is work: no processor time while idle. The default. */
    PARK,
    /** Spins for ever: the least latency, one whole core an agent. Refused with more agents than cores minus one. */
    SPIN
}
