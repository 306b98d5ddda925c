package io.mooncake.core;

/** On how many threads a node's agents run; the agents are the same. */
public enum ThreadingMode {
    /** None: one owning thread calls {@link Node#doWork()}; waiting in that thread runs the agents. Other threads are refused. */
    INVOKER,
    /** All agents on one thread. */
    SHARED,
    /** One thread an agent. */
    DEDICATED
}
