/**
 * The registry of several processes: membership, failure detection, delivery and encryption are JGroups', what the facts mean is
 * {@link io.mooncake.core.registry.ReplicatedRegistry}'s. The only package that knows JGroups, which is an optional dependency: nothing of
 * it is loaded where no cluster is configured.
 *
 * <pre>
 *   conductor ─ announce ─▶ ReplicatedRegistry ◀─ facts, members ─ inbound thread ◀─ bounded queue ◀─ JGroups' threads
 *                               │ flush, beat
 *                               └─ outbound thread, the only one that sends, and that may block ─▶ JGroups
 * </pre>
 */
@NullMarked
package io.mooncake.core.registry.jgroups;

import org.jspecify.annotations.NullMarked;
