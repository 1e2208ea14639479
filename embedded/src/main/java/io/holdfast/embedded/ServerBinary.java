package io.holdfast.embedded;

import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The server's executable for one platform: carried in a jar, unpacked once per user.
 *
 * <p>What is run is always the file whose size and SHA-256 stand below, whatever lies in the cache folder: a file that
 * differs (half written, tampered with, of another build) is replaced. A new file is written beside its place, checked,
 * made executable and moved there in one step, so several processes may unpack at once. The folder is the user's own
 * (0700), since the check would be worth nothing if another user could swap the file after it.
 */
record ServerBinary(String resource, long size, String sha256) {

    private static final String VERSION = "7.0.15";
    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

    private static final List<ServerBinary> ALL = List.of(
            new ServerBinary(
                    "redis-server-7.0.15-linux-amd64",
                    6_103_320,
                    "c0cdeef856b3410fd99d6ec6fc6a20302e69059b00ce5d6abab7b3e5069ea91e"),
            new ServerBinary(
                    "redis-server-7.0.15-linux-arm64",
                    5_236_272,
                    "d5c7ff117caf45d7dc2f59c1f956e1830438779947d66aa5647c2cdcc16eca50"),
            new ServerBinary(
                    "redis-server-7.0.15-linux-386",
                    5_373_128,
                    "19106984e15b7e7ce22c9a3296fe6a5f85c43a72894144f98b1fb572b823a936"),
            new ServerBinary(
                    "redis-server-7.0.15-darwin-amd64",
                    5_144_504,
                    "e22a3d9147802bba0724efb2e446c49e1e514e76ff8031bb6d44b8628400d8f3"),
            new ServerBinary(
                    "redis-server-7.0.15-darwin-arm64",
                    4_834_880,
                    "07838a2eb6f5961c89d8e6f1f83482de355dfc6bb04e05bfb00ae1f137dee129"));

    /** A system property: the server to run instead of the one that is carried along. */
    static final String OWN = "holdfast.embedded.server";

    /** The executable that {@link #OWN} names; without it that of this platform, unpacked and checked once per process. */
    static Path executable() {
        String own = System.getProperty(OWN);
        return own == null ? Unpacked.EXECUTABLE.orThrow() : own(own);
    }

    static Path own(String name) {
        Path executable = Path.of(name).toAbsolutePath();
        if (!Files.isRegularFile(executable) || !Files.isExecutable(executable)) {
            throw HoldfastException.misuse(
                    OWN + "=" + name + " is no file that can be executed",
                    "name a redis-server of version 7 or newer, or a valkey-server; or leave it out");
        }
        return executable;
    }

    /** The binary for a platform as {@code os.name} and {@code os.arch} call it. */
    static ServerBinary of(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT);
        String system = os.startsWith("linux") ? "linux" : os.startsWith("mac") ? "darwin" : "none";
        String machine = switch (osArch.toLowerCase(Locale.ROOT)) {
            case "amd64", "x86_64" -> "amd64";
            case "aarch64", "arm64" -> "arm64";
            case "x86", "i386", "i686" -> "386";
            default -> "none";
        };
        String name = "redis-server-" + VERSION + "-" + system + "-" + machine;
        return ALL.stream()
                .filter(binary -> binary.resource.equals(name))
                .findFirst()
                .orElseThrow(() -> HoldfastException.misuse(
                        "no embedded Redis for " + osName + " on " + osArch
                                + "; there is one for Linux on amd64, arm64, 386 and macOS on amd64, arm64",
                        "run Redis 7 or Valkey yourself and connect to it by its URI"));
    }

    /** Where this user's executables are kept: the first of the usual folders that is, or can be made, ours alone. */
    static Path cacheFolder() throws IOException {
        String home = System.getProperty("user.home", "");
        String xdg = System.getenv().getOrDefault("XDG_CACHE_HOME", "");
        Path base = xdg.startsWith("/") ? Path.of(xdg) : Path.of(home, ".cache");
        Path temp = Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
        List<Path> candidates =
                List.of(base.resolve("holdfast"), temp.resolve("holdfast-" + System.getProperty("user.name", "user")));
        for (Path folder : candidates) {
            if (makeOurs(folder)) {
                return folder;
            }
        }
        return Files.createTempDirectory("holdfast-");
    }

    /** Unpacks into the folder unless the right file is there already, and returns it. */
    Path unpackInto(Path folder) throws IOException {
        Path target = folder.resolve(resource);
        if (isGenuine(target)) {
            return target;
        }
        Path fresh =
                Files.createTempFile(folder, resource + ".", ".part", PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        try {
            try (InputStream in = ServerBinary.class.getResourceAsStream("/" + resource)) {
                if (in == null) {
                    throw HoldfastException.misuse(
                            "the embedded Redis server " + resource + " is not on the class path",
                            "add the dependency org.signal:embedded-redis, which carries it");
                }
                Files.copy(in, fresh, StandardCopyOption.REPLACE_EXISTING);
            }
            Files.setPosixFilePermissions(fresh, OWNER_ONLY);
            if (!isGenuine(fresh)) {
                throw new HoldfastException(
                        Category.CORRUPT,
                        "the embedded Redis server " + resource + " on the class path is not the one Holdfast was"
                                + " built with: its SHA-256 is not " + sha256,
                        "use org.signal:embedded-redis in the version that holdfast-embedded names",
                        null);
            }
            Files.move(fresh, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(fresh);
        }
        return target;
    }

    private boolean isGenuine(Path file) throws IOException {
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                && Files.size(file) == size
                && Files.getPosixFilePermissions(file).equals(OWNER_ONLY)
                && digest(file).equals(sha256);
    }

    private static String digest(Path file) throws IOException {
        try (var in = new DigestInputStream(
                Files.newInputStream(file, StandardOpenOption.READ), MessageDigest.getInstance("SHA-256"))) {
            byte[] buffer = new byte[1 << 16];
            while (in.read(buffer) >= 0) {
                // the stream digests what passes
            }
            return HexFormat.of().formatHex(in.getMessageDigest().digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private static boolean makeOurs(Path folder) {
        try {
            Files.createDirectories(folder);
            boolean ours = !Files.isSymbolicLink(folder)
                    && Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS)
                            .getName()
                            .equals(System.getProperty("user.name"));
            if (!ours) {
                return false;
            }
            Files.setPosixFilePermissions(folder, OWNER_ONLY);
            return Files.isWritable(folder);
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    /** The outcome for this platform: an executable, or the reason why there is none. */
    private interface Unpacked {

        Unpacked EXECUTABLE = attempt();

        Path orThrow();

        private static Unpacked attempt() {
            try {
                ServerBinary binary = of(System.getProperty("os.name", "?"), System.getProperty("os.arch", "?"));
                Path executable = binary.unpackInto(cacheFolder());
                return () -> executable;
            } catch (HoldfastException e) {
                return () -> {
                    throw new HoldfastException(e.category(), String.valueOf(e.getMessage()), e.action(), e);
                };
            } catch (IOException e) {
                return () -> {
                    throw new HoldfastException(
                            Category.FULL,
                            "the embedded Redis server could not be unpacked: " + e,
                            "free some space, or make ~/.cache writable",
                            e);
                };
            }
        }
    }
}
