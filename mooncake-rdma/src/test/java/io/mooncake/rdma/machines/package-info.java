/**
 * Two virtual machines with one cable between them, which is in the test's hands: what becomes of reads when the other machine dies, stands
 * still, is cut off, or comes back.
 *
 * <pre>
 *   TwoMachinesTest ─▶ Machine "reader": ReaderProgram      a line a read, on standard output
 *         │    ╲────▶ Machine "owner":  OwnerProgram       its blocks, on standard output
 *         └─▶ Cable: each frame of either machine goes through it
 * </pre>
 */
@NullMarked
package io.mooncake.rdma.machines;

import org.jspecify.annotations.NullMarked;
