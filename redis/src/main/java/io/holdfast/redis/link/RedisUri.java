package io.holdfast.redis.link;

import io.holdfast.HoldfastException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where Redis is, in one line:
 *
 * <pre>
 *   redis://[user:password@]host[:port][/db]                      one server
 *   redis-cluster://[user:password@]host[:port][,host[:port]…]    Redis Cluster, found from any of its servers
 *   redis-sentinel://[user:password@]host[:port][,…][/db]#NAME    the primary called NAME, asked of its Sentinels
 *   rediss://  rediss-cluster://  rediss-sentinel://              the same over TLS
 * </pre>
 */
public record RedisUri(
        Mode mode,
        boolean tls,
        List<Endpoint> endpoints,
        @Nullable String user,
        @Nullable String password,
        int database,
        @Nullable String primaryName) {

    /** How many servers there are, and who knows them. */
    public enum Mode {
        STANDALONE,
        CLUSTER,
        SENTINEL
    }

    public record Endpoint(String host, int port) {
        @Override
        public String toString() {
            return host + ':' + port;
        }
    }

    private static final Pattern FORM = Pattern.compile("(rediss?)(-cluster|-sentinel)?://(?:([^@/#]*)@)?([^/#?]+)"
            + "(?:/(\\d{1,3})?)?(?:#([A-Za-z0-9._-]{1,128}))?");
    private static final Pattern ENDPOINT = Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)(?::(\\d{1,5}))?");
    private static final String ALLOWED = "write redis://host:port, rediss://user:password@host:port/db,"
            + " redis-cluster://host:port,host:port or redis-sentinel://host:port,host:port#primary";

    public RedisUri {
        endpoints = List.copyOf(endpoints);
    }

    public static RedisUri parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw wrong(text, "is not a Redis URI");
        }
        Mode mode = form.group(2) == null
                ? Mode.STANDALONE
                : form.group(2).equals("-cluster") ? Mode.CLUSTER : Mode.SENTINEL;
        @Nullable String[] credentials = credentials(form.group(3));
        int database = form.group(5) == null ? 0 : Integer.parseInt(form.group(5));
        String primaryName = form.group(6);
        if (mode == Mode.CLUSTER && database != 0) {
            throw wrong(text, "names a database, and Redis Cluster has only 0");
        }
        if ((mode == Mode.SENTINEL) != (primaryName != null)) {
            throw wrong(text, mode == Mode.SENTINEL ? "lacks the primary's #NAME" : "has a #NAME without Sentinel");
        }
        List<Endpoint> endpoints = endpoints(text, form.group(4), mode == Mode.SENTINEL ? 26379 : 6379);
        if (mode == Mode.STANDALONE && endpoints.size() > 1) {
            throw wrong(text, "names several servers");
        }
        return new RedisUri(
                mode, form.group(1).equals("rediss"), endpoints, credentials[0], credentials[1], database, primaryName);
    }

    private static List<Endpoint> endpoints(String text, String list, int defaultPort) {
        List<Endpoint> endpoints = new ArrayList<>();
        for (String one : list.split(",", -1)) {
            Matcher endpoint = ENDPOINT.matcher(one);
            if (!endpoint.matches()) {
                throw wrong(text, "has the server '" + one + "', which is not host:port");
            }
            int port = endpoint.group(2) == null ? defaultPort : Integer.parseInt(endpoint.group(2));
            if (port < 1 || port > 65_535) {
                throw wrong(text, "has port " + port + ", which is not 1 to 65535");
            }
            String host = endpoint.group(1);
            endpoints.add(new Endpoint(host.startsWith("[") ? host.substring(1, host.length() - 1) : host, port));
        }
        return endpoints;
    }

    private static @Nullable String[] credentials(@Nullable String userInfo) {
        if (userInfo == null || userInfo.isEmpty()) {
            return new @Nullable String[2];
        }
        int colon = userInfo.indexOf(':');
        String user = colon <= 0 ? null : decode(userInfo.substring(0, colon));
        return new @Nullable String[] {user, decode(userInfo.substring(colon + 1))};
    }

    private static String decode(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static HoldfastException wrong(String text, String why) {
        return HoldfastException.misuse("'" + masked(text) + "' " + why, ALLOWED);
    }

    private static String masked(String text) {
        return text.replaceFirst("//[^@/]*@", "//***@");
    }

    /** The URI without its password, for people. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(tls ? "rediss" : "redis");
        text.append(
                switch (mode) {
                    case STANDALONE -> "";
                    case CLUSTER -> "-cluster";
                    case SENTINEL -> "-sentinel";
                });
        text.append("://").append(password == null ? "" : "***@");
        text.append(String.join(",", endpoints.stream().map(Endpoint::toString).toList()));
        text.append(database == 0 ? "" : "/" + database);
        return text.append(primaryName == null ? "" : "#" + primaryName).toString();
    }
}
