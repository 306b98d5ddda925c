package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A piece of memory described, not owned: host memory, memory of a device, or a file in its place. Immutable. */
public sealed interface Memory {
    /**
     * Bytes.
     *
     * @return more than 0
     */
    long length();

    /**
     * The first byte's address in the process, or on the device.
     *
     * @return an address, never to be dereferenced for device memory
     */
    long address();

    /**
     * Describes host memory.
     *
     * @param segment a native segment
     * @return its description
     */
    static Memory of(MemorySegment segment) {
        return new HostMemory(segment);
    }

    /**
     * Native memory of this process.
     *
     * @param segment native and readable from any thread (shared, automatic or global arena)
     */
    record HostMemory(MemorySegment segment) implements Memory {
        /**
         * Checks the segment.
         *
         * @throws MooncakeException INVALID_ARGUMENT when empty, on the heap or confined to a thread
         */
        public HostMemory {
            if (!segment.isNative() || segment.byteSize() == 0) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT, "memory " + segment
                        + " must be native and not empty: allocate it from a shared, automatic or global Arena");
            }
            if (!segment.isAccessibleBy(POLLER)) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "memory " + segment + " is confined to one thread: allocate it from Arena.ofShared()");
            }
        }

        // Never started: stands for "some other thread".
        private static final Thread POLLER = Thread.ofPlatform().unstarted(() -> {});

        @Override
        public long length() {
            return segment.byteSize();
        }

        @Override
        public long address() {
            return segment.address();
        }
    }

    /**
     * Memory of a device. Its address means nothing to the host.
     *
     * @param device the device's number
     * @param address first byte on the device
     * @param length bytes, more than 0
     * @param cards how network cards get at it; null where they do not
     */
    record DeviceMemory(int device, long address, long length, @Nullable CardAccess cards) implements Memory {
        /**
         * Regions of pools on devices are numbered from here on, up to those of files, others below: whoever has a reference sees that its node
         * has to bring the block into host memory first.
         */
        public static final int FIRST_REGION = 1 << 29;

        /**
         * A device's memory that no network card gets at.
         *
         * @param device the device's number
         * @param address first byte on the device
         * @param length bytes, more than 0
         * @throws MooncakeException INVALID_ARGUMENT
         */
        public DeviceMemory(int device, long address, long length) {
            this(device, address, length, null);
        }

        /**
         * Checks the numbers.
         *
         * @throws MooncakeException INVALID_ARGUMENT
         */
        public DeviceMemory {
            if (device < 0 || length <= 0) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "device memory: device " + device + " must not be negative, length " + length
                                + " must be positive");
            }
        }

        /**
         * A part of it.
         *
         * @param offset of its first byte
         * @param partLength bytes
         * @return as reachable as the whole
         */
        public DeviceMemory part(long offset, long partLength) {
            return new DeviceMemory(device, address + offset, partLength, cards);
        }
    }

    /**
     * Bytes of a file, which nobody can address: they are read and written by the engine that has the file.
     *
     * @param path the file
     * @param length bytes, more than 0
     */
    record FileMemory(Path path, long length) implements Memory {
        /** Regions of files are numbered from here on, others below: whoever has a reference sees that nobody reads there but the node itself. */
        public static final int FIRST_REGION = 1 << 30;

        /**
         * Checks the length.
         *
         * @throws MooncakeException INVALID_ARGUMENT
         */
        public FileMemory {
            if (length <= 0) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "file memory " + path + ": length " + length + " must be positive");
            }
        }

        /** There is none: 0. */
        @Override
        public long address() {
            return 0;
        }
    }
}
