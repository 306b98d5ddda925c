package io.mooncake.rdma.verbs;

/**
 * The limits of a device. Immutable.
 *
 * @param firmware the version text
 * @param vendorId the vendor's number
 * @param ports from 1 to this
 * @param maxRegionBytes of one memory region, unsigned
 * @param maxRegions memory regions
 * @param maxQueuePairs queue pairs
 * @param maxRequests work requests of one queue
 * @param maxEntries completions of one completion queue
 * @param maxReads READs that one queue pair answers at a time
 * @param maxInitiatedReads READs that one queue pair has outstanding on the wire at a time
 */
public record DeviceAttributes(String firmware, int vendorId, int ports, long maxRegionBytes, int maxRegions,
        int maxQueuePairs, int maxRequests, int maxEntries, int maxReads, int maxInitiatedReads) {}
