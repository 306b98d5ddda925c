package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** The directory that one user's nodes share: mode 0700, that user's. Immutable. */
final class SharedDirectory {
    private static final Set<PosixFilePermission> MODE = PosixFilePermissions.fromString("rwx------");
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY = PosixFilePermissions
            .asFileAttribute(MODE);

    private final Path path;

    private SharedDirectory(Path path) {
        this.path = path;
    }

    /**
     * Makes or finds the user's directory inside another one, and removes what died there.
     *
     * @throws MooncakeException CONFIG_ERROR when there is none, or strangers can reach it
     */
    static SharedDirectory open(Path parent) {
        String user = System.getProperty("user.name", "").replaceAll("[^A-Za-z0-9._-]", "_");
        Path path = parent.resolve("mooncake-" + user);
        try {
            try {
                Files.createDirectory(path, OWNER_ONLY);
            } catch (FileAlreadyExistsException e) {
                checkMode(path);
            }
            SharedDirectory directory = new SharedDirectory(path.toRealPath());
            LockedFile.sweep(directory.path);
            return directory;
        } catch (IOException | UnsupportedOperationException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + path + " cannot be used: " + reason(e)
                    + ": name a directory that this user can write, or set sharedMemory = off", e);
        }
    }

    private static void checkMode(Path path) throws IOException {
        PosixFileAttributes found = attributes(path);
        if (!found.isDirectory() || !found.permissions().equals(MODE)) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + path + " has mode "
                    + PosixFilePermissions.toString(found.permissions())
                    + (found.isDirectory() ? "" : " and is no directory")
                    + ": what is in it would be open to others; remove it, or chmod 700 it if it is yours");
        }
    }

    private static PosixFileAttributes attributes(Path path) throws IOException {
        return Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Makes a file of so many zeros.
     *
     * @throws MooncakeException CONFIG_ERROR when there is no room, or the directory is another user's
     */
    LockedFile create(String name, String suffix, long bytes) {
        long free;
        try {
            free = Files.getFileStore(path).getUsableSpace();
            if (free < bytes) {
                throw noRoom(bytes, free, null);
            }
            LockedFile file = LockedFile.create(path, name, suffix, bytes);
            if (!attributes(file.data()).owner().equals(attributes(path).owner())) {
                file.close();
                throw new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + path + " belongs to user "
                        + attributes(path).owner() + ", not to this process: remove it, or name another directory");
            }
            return file;
        } catch (FileAlreadyExistsException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + e.getMessage()
                    + " exists already: two nodes with one name and incarnation", e);
        } catch (IOException e) {
            throw noRoom(bytes, usable(), e);
        }
    }

    private long usable() {
        try {
            return Files.getFileStore(path).getUsableSpace();
        } catch (IOException e) {
            return 0;
        }
    }

    private MooncakeException noRoom(long bytes, long free, @org.jspecify.annotations.Nullable IOException e) {
        return new MooncakeException(Kind.CONFIG_ERROR, "sharedMemory: " + path + " has no room for the pool: "
                + ByteSize.rounded((double) bytes) + " (" + bytes + " bytes) needed, " + free + " bytes free"
                + (e == null ? "" : " (" + reason(e) + ")")
                + ": make the pool smaller or the file system larger (docker: --shm-size), or set sharedMemory = off",
                e);
    }

    Path path() {
        return path;
    }

    /** The base of the names of a pool's files. */
    static String poolName(NodeId owner) {
        return owner.toString();
    }

    /** The base of the names of the files with a reader's views of an owner's blocks; no node's name has an {@code @}. */
    static String pinsName(NodeId owner, NodeId reader) {
        return owner + "@" + reader;
    }

    /** What the system said, without the class name that only some exceptions need. */
    static String reason(Exception e) {
        return switch (e) {
            case java.nio.file.NoSuchFileException none -> "no such file or directory: " + none.getFile();
            case java.nio.file.AccessDeniedException denied -> "permission denied: " + denied.getFile();
            default -> e.getMessage() == null ? e.toString() : e.getMessage();
        };
    }
}
