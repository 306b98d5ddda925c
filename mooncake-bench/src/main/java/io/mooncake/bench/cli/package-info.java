/**
 * The commands of the bench: one class a command, registered in {@link io.mooncake.bench.cli.Main}.
 *
 * <pre>
 *   replay    Trace (file or TraceGenerator) ─▶ ReplayRun ─▶ Cluster of nodes     read the longest cached prefix, write the rest
 *                                                  │             │
 *                                                  │             └ Content: fills and verifies every byte, Ledger: which writing
 *                                                  └▶ ReplayStats ─▶ ReplayReport (table, JSON), Progress (live)
 * </pre>
 */
@NullMarked
package io.mooncake.bench.cli;

import org.jspecify.annotations.NullMarked;
