/**
 * The engine of a node's file tier: blocks from the file into memory, and from memory into the file.
 *
 * <pre>
 *   submit ─▶ FileQueue ─▶ file threads: a unit at a time, loads first ─▶ UnitMover: pin, device, checksum, guard, unpin
 *                 ▲                      then what was written is made durable, all that waits together
 *                 └ poller: deadlines, what was given up (INVOKER: the file threads' work, too)
 * </pre>
 */
@NullMarked
package io.mooncake.core.transfer.file;

import org.jspecify.annotations.NullMarked;
