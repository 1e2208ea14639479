package io.holdfast.sweep.rpc;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.ForwardingClientCallListener;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.util.Optional;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** Learns during a call whose certificate the server showed. */
final class PeerSubject implements ClientInterceptor {

    private volatile String subject = "";

    /** The subject of the certificate; empty without TLS. */
    Optional<String> name() {
        String seen = subject;
        return seen.isEmpty() ? Optional.empty() : Optional.of("certificate " + seen);
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        ClientCall<Q, A> call = next.newCall(method, options);
        return new ForwardingClientCall.SimpleForwardingClientCall<>(call) {
            @Override
            public void start(Listener<A> listener, Metadata headers) {
                super.start(
                        new ForwardingClientCallListener.SimpleForwardingClientCallListener<>(listener) {
                            @Override
                            public void onHeaders(Metadata answer) {
                                look(call);
                                super.onHeaders(answer);
                            }
                        },
                        headers);
            }
        };
    }

    private void look(ClientCall<?, ?> call) {
        SSLSession session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
        if (session != null) {
            try {
                subject = session.getPeerPrincipal().getName();
            } catch (SSLPeerUnverifiedException e) {
                subject = "";
            }
        }
    }
}
