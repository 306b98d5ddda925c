package io.mooncake.core;

import io.mooncake.core.transfer.ControlChannel;

/**
 * What all pulls of a node share.
 *
 * @param life the node's
 * @param sources where blocks can be read from
 * @param conductor does what is left when a read has ended
 * @param faults told what reads that failed say of their sources
 * @param counters what is counted of them
 * @param shared the replicas on their way
 * @param steps how replicas come to their tiers
 * @param control asks other nodes for what they have only in a file
 * @param prefetches how much may be fetched ahead
 */
record PullContext(Life life, Sources sources, Conductor conductor, SourceFaults faults, PullCounters counters,
        SharedPulls shared, ReplicaSteps steps, ControlChannel control, PrefetchBudget prefetches) {}
