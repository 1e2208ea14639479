package io.holdfast.sweep.rpc;

import io.grpc.BindableService;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.holdfast.HoldfastException;
import io.holdfast.HoldfastException.Category;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** One port. With TLS, a service lets in only callers whose certificate has one of its roles. */
public final class RpcServer implements AutoCloseable {

    /** Who a caller may be. */
    public enum Role {
        MANAGER,
        WORKER,
        NODE,
        OPERATOR,
        /** Puts and reads pieces. */
        CLIENT
    }

    private static final int HEADERS_MAX = 16 * 1024;
    private static final int CALLS_MAX = 256;
    private static final int KEEP_ALIVE_LEAST_SECONDS = 5;

    private final Server server;
    private final String address;

    private RpcServer(Server server, String host) {
        this.server = server;
        this.address = host + ":" + server.getPort();
    }

    /** A service of a port, and who may call it. */
    public record Guarded(BindableService service, Set<Role> callers) {
        public Guarded {
            callers = Set.copyOf(callers);
        }
    }

    /** A port with one service. */
    public static RpcServer start(String listen, BindableService service, Optional<TlsFiles> tls, Set<Role> callers) {
        return start(listen, List.of(new Guarded(service, callers)), tls);
    }

    /** @param listen host:port; port 0 takes any that is free */
    public static RpcServer start(String listen, List<Guarded> services, Optional<TlsFiles> tls) {
        String address = Wire.address(listen);
        int colon = address.lastIndexOf(':');
        String host = address.substring(0, colon);
        int port = Integer.parseInt(address.substring(colon + 1));
        if (port > 65535) {
            throw HoldfastException.misuse("port " + port, "use 0 to 65535");
        }
        NettyServerBuilder builder = NettyServerBuilder.forAddress(new InetSocketAddress(host, port))
                .maxInboundMessageSize(Wire.MESSAGE_MAX)
                .maxInboundMetadataSize(HEADERS_MAX)
                .maxConcurrentCallsPerConnection(CALLS_MAX)
                .permitKeepAliveTime(KEEP_ALIVE_LEAST_SECONDS, TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true);
        for (Guarded one : services) {
            builder.addService(
                    tls.isPresent()
                            ? ServerInterceptors.intercept(one.service(), new RoleCheck(one.callers()))
                            : one.service().bindService());
        }
        tls.ifPresent(files -> builder.sslContext(files.server()));
        try {
            return new RpcServer(builder.build().start(), host);
        } catch (IOException e) {
            throw new HoldfastException(
                    Category.RETRY, "cannot listen at " + listen + ": " + e.getMessage(), "name another address", e);
        }
    }

    /** Where it is reached. */
    public String address() {
        return address;
    }

    public void await() throws InterruptedException {
        server.awaitTermination();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private record RoleCheck(Set<Role> allowed) implements ServerInterceptor {

        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(
                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            SSLSession session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
            Optional<Role> role = session == null ? Optional.empty() : role(session);
            if (role.filter(allowed::contains).isPresent()) {
                return next.startCall(call, headers);
            }
            String who =
                    role.map(found -> found.name().toLowerCase(Locale.ROOT)).orElse("nobody known");
            call.close(
                    Status.PERMISSION_DENIED.withDescription(
                            "the certificate is of " + who + ", allowed are " + allowed),
                    new Metadata());
            return new ServerCall.Listener<>() {};
        }

        private static Optional<Role> role(SSLSession session) {
            try {
                LdapName name = new LdapName(session.getPeerPrincipal().getName());
                for (Rdn part : name.getRdns()) {
                    for (Role role : Role.values()) {
                        if (part.getType().equalsIgnoreCase("OU")
                                && role.name().equalsIgnoreCase(part.getValue().toString())) {
                            return Optional.of(role);
                        }
                    }
                }
                return Optional.empty();
            } catch (SSLPeerUnverifiedException | InvalidNameException e) {
                return Optional.empty();
            }
        }
    }
}
