/**
 * The commands of the bench: one class a command, registered in {@link io.mooncake.bench.cli.Main}.
 *
 * <pre>
 *   replay    Trace (file or TraceGenerator) ─▶ ReplayRun ─▶ Cluster of nodes     read the longest cached prefix, write the rest
 *                                                  │             │
 *                                                  │             └ Content: fills and verifies every byte, Ledger: which writing
 *                                                  └▶ ReplayStats ─▶ ReplayReport (table, JSON), Progress (live)
 *             with a process for each node: ReplayProcesses ─▶ ReplayProcess (child), Testimony of what it read ─▶ Versions
 *
 *   cluster   ClusterRun: what is done to the processes (Fault) ─▶ ClusterPeer, on Hosts (OneHost, Namespaces); each peer's PeerReaders
 *             verify all others ─▶ ClusterWatch: what they say, judged by what was done
 *
 *   registry  RegistryScale: the registries of many nodes in this process
 *
 *   transfer  PullClient ◀── Served: a TransferServer in a process of its own     ReferenceComparison: pairs of runs, PullRun ours
 *   cancel    CancelRun: a CancelSeat a pull in flight ◀── Served                 CancelFigures: how far, how soon, what went wrong
 *   fair      FairCommand ◀── FairPeers: nodes in this process
 *   disagg    DisaggRun: an EngineSeat for each DisaggProcess, with an engine of io.mooncake.bench.engine beside a node; prefix  PrefixRun
 *   micro     the benchmarks of io.mooncake.bench.jmh
 * </pre>
 */
@NullMarked
package io.mooncake.bench.cli;

import org.jspecify.annotations.NullMarked;
