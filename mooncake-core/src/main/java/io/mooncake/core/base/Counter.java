package io.mooncake.core.base;

/** Everything that a node counts; values only grow while a node lives. {@code node.counters()} reads them. */
public enum Counter {
    /** Blocks committed by local writers. */
    BLOCKS_WRITTEN,
    /** Blocks committed as copies of another node's. */
    BLOCKS_REPLICATED,
    /** Blocks that came into a slower tier of this node, a step each: out of device memory into host memory, out of that durably into the file. */
    BLOCKS_DEMOTED,
    /** Blocks that came into a faster tier of this node, a step each. */
    BLOCKS_PROMOTED,
    /** Blocks that other nodes asked this one to bring into its host memory, up from its file or down from its device. */
    BLOCKS_WANTED,
    /** Copies of blocks that other nodes took because they were asked to. */
    BLOCKS_COPIED_OUT,
    /** Blocks that were handed over to other nodes, and left this one. */
    BLOCKS_HANDED_OVER,
    /** Copies of other nodes' blocks that were begun because the blocks were read often from here. */
    HOT_REPLICAS,
    /** Plans of this node of which every step was done. */
    PLANS_COMPLETED,
    /** Plans of this node that failed. */
    PLANS_FAILED,
    /** Plans of this node that were canceled, by a caller or by close. */
    PLANS_CANCELED,
    /** Plans that were made anew, because a step could not be done where it was to be. */
    PLANS_REPLANNED,
    /** Blocks that were in the file when the node started, verified. */
    BLOCKS_RECOVERED,
    /** Blocks that the file's journal named when the node started, and whose bytes were others: they are gone. */
    BLOCKS_DAMAGED,
    /** Blocks that could not be brought into a slower tier before their room was needed, and were dropped. */
    DEMOTIONS_FAILED,
    /** Bytes of blocks that came into a slower tier. */
    BYTES_DEMOTED,
    /** Bytes of blocks that came into a faster tier. */
    BYTES_PROMOTED,
    /** Blocks that were fetched ahead of their use. */
    BLOCKS_PREFETCHED,
    /** Of those, blocks that were used. */
    PREFETCHES_USED,
    /** Of those, blocks that were evicted unused. */
    PREFETCHES_WRONG,
    /** Blocks that were moved inside memory so that what is free there is one range. */
    BLOCKS_COMPACTED,
    /** Their bytes. */
    BYTES_COMPACTED,
    /** Commits that found the block already there. */
    BLOCKS_ALREADY_WRITTEN,
    /** Commits of a version lower than the one there. */
    BLOCKS_SUPERSEDED,
    /** Writers that gave their slot back unwritten. */
    WRITES_ABORTED,
    /** Commits and aborts of writers whose id had gone to another. */
    WRITES_STALE,
    /** Blocks evicted by policy. */
    EVICTIONS_POLICY,
    /** Blocks evicted by request. */
    EVICTIONS_REQUESTED,
    /** Slots whose block was replaced by a higher version. */
    EVICTIONS_REPLACED,
    /** Hints of a next use that were forgotten before their block came, because others were given meanwhile. */
    HINTS_DROPPED,
    /** Allocations that had to wait for a free slot. */
    ALLOCATE_WAITS,
    /** Allocations refused. */
    ALLOCATE_REFUSED,
    /** Views that were taken, counted when they are closed. */
    VIEWS,
    /** Transfers submitted. */
    TRANSFERS_SUBMITTED,
    /** Transfers of which every piece is OK. */
    TRANSFERS_COMPLETED,
    /** Transfers with at least one piece that failed. */
    TRANSFERS_FAILED,
    /** Transfers ended by their deadline. */
    TRANSFERS_TIMED_OUT,
    /** Transfers canceled, by a caller or by close. */
    TRANSFERS_CANCELED,
    /** Pieces that ended OK. */
    PIECES_OK,
    /** Pieces whose block was nowhere. */
    PIECES_ABSENT,
    /** Pieces whose guard or version had changed. */
    PIECES_STALE,
    /** Pieces whose bytes were damaged at every holder. */
    PIECES_CHECKSUM,
    /** Pieces whose peer could not be reached. */
    PIECES_UNREACHABLE,
    /** Pieces ended by the deadline. */
    PIECES_TIMED_OUT,
    /** Pieces canceled. */
    PIECES_CANCELED,
    /** Pieces refused by either side's check. */
    PIECES_REFUSED,
    /** Attempts at a piece beyond the first. */
    PIECE_RETRIES,
    /** Bytes of OK pieces copied inside this node. */
    BYTES_COPIED,
    /** Bytes of OK pieces pulled from peers. */
    BYTES_PULLED,
    /** Bytes sent to peers that pull. */
    BYTES_SERVED,
    /** Bytes between a device and other memory that went by pinned memory, since one of the two is not pinned, or two devices can't reach each other. */
    BYTES_STAGED,
    /** Ranges of reads, one READ each, served whole. */
    READS_SERVED,
    /** Reads refused because the guard had changed. */
    READS_STALE,
    /** Reads refused because of bounds, access or an unknown region. */
    READS_REFUSED,
    /** Connections made or accepted whose handshake succeeded. */
    LANES_OPENED,
    /** Connections lost after that. */
    LANES_LOST,
    /** Connections refused or given up in the handshake. */
    HANDSHAKES_REFUSED,
    /** Connections closed because of bytes that are no legal frame. */
    PROTOCOL_ERRORS,
    /** Ranges of reads that were asked for again because their connection was lost. */
    RANGES_RESENT,
    /** Answers to requests that had ended already; dropped. */
    STALE_COMPLETIONS,
    /** Control messages sent. */
    MESSAGES_SENT,
    /** Control messages received. */
    MESSAGES_RECEIVED,
    /** Control messages that nobody took: of a topic without a handler here, or faster than the application's handler. */
    MESSAGES_DROPPED,
    /** User callbacks that threw. */
    CALLBACKS_FAILED
}
