/**
 * Pools that the processes of one host share: files in memory, mapped by their owner for writing and by its peers for reading.
 *
 * <pre>
 *   /dev/shm/mooncake-user/            mode 0700
 *     a#1.pool         header | slots | guards     written by a alone, mapped read-only by its peers
 *     a#1.lock         locked by a as long as it lives
 *     a#1@b#2.pins     header | a count a slot     b's views of a's blocks: counted by b, looked at by a before it frees a slot
 *     a#1@b#2.lock     locked by b as long as it may have views
 * </pre>
 *
 * <p>A file lives as long as its lock is held: whoever comes later to a file that nobody has locked removes it. Nothing here calls the C
 * library; a mapping stays readable whatever becomes of the file's name and of its owner.
 */
@NullMarked
package io.mooncake.core.transfer.shm;

import org.jspecify.annotations.NullMarked;
