package io.mooncake.core;

import io.mooncake.core.base.Counters;
import io.mooncake.core.transfer.ControlChannel;
import org.jspecify.annotations.Nullable;

/**
 * What all pulls of a node share.
 *
 * @param life the node's
 * @param sources where blocks can be read from
 * @param conductor does what is left when a read has ended
 * @param events told of references that turned out stale or lost
 * @param nodes told of holders that could not be reached
 * @param counters the node's
 * @param shared the replicas on their way
 * @param steps how replicas come to their tiers
 * @param control asks other nodes for what they have only in a file
 * @param prefetches how much may be fetched ahead
 * @param hot is told what is read from other nodes; null where no copies are taken of that
 */
record PullContext(Life life, Sources sources, Conductor conductor, BlockEvents events, NodeEvents nodes,
        Counters counters, SharedPulls shared, ReplicaSteps steps, ControlChannel control, PrefetchBudget prefetches,
        @Nullable HotReplicas hot) {}
