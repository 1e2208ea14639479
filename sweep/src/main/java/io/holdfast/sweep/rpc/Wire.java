package io.holdfast.sweep.rpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.holdfast.HoldfastException;
import io.holdfast.sweep.cycle.Heard;
import io.holdfast.sweep.filter.FilterGeometry;
import io.holdfast.sweep.piece.NodeId;
import io.holdfast.sweep.piece.OwnerId;
import io.holdfast.sweep.proto.SessionId;
import io.holdfast.sweep.proto.SignedText;
import io.holdfast.sweep.proto.StartSessionRequest;
import io.holdfast.sweep.retain.Signed;
import io.holdfast.sweep.transfer.Frame;
import io.holdfast.sweep.transfer.FrameReply;
import io.holdfast.sweep.transfer.NodeBatch;
import io.holdfast.sweep.transfer.NodeBuilt;
import io.holdfast.sweep.transfer.NodeToBuild;
import io.holdfast.sweep.transfer.SessionKey;
import io.holdfast.sweep.transfer.SessionStart;
import io.holdfast.sweep.transfer.Tally;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Messages to the sweep's own words and back. Whatever comes in is checked by the words' own limits. */
final class Wire {

    /** The largest message that any port takes. */
    static final int MESSAGE_MAX = 4 << 20;

    static final int FINGERPRINT_BYTES = 16;

    /** The most alarms that a node tells of. */
    static final int ALARMS_MAX = 100;

    /** What is said for people is cut after so many letters; what is said of every node, earlier. */
    static final int WORDS_MAX = 1000;

    static final int WORDS_OF_A_NODE_MAX = 100;

    private static final int ADDRESS_MAX = 256;
    private static final int DIGEST_BYTES = 32;

    private Wire() {}

    static SessionId encode(SessionKey key) {
        return SessionId.newBuilder()
                .setCycle(key.cycle())
                .setToken(key.token())
                .setAttempt(key.attempt())
                .setOwner(key.owner().name())
                .build();
    }

    static SessionKey decode(SessionId id) {
        return new SessionKey(new OwnerId(id.getOwner()), id.getCycle(), id.getToken(), id.getAttempt());
    }

    static SignedText encode(Signed signed) {
        return SignedText.newBuilder()
                .setText(ByteString.copyFrom(signed.text()))
                .setSignature(ByteString.copyFrom(signed.signature()))
                .build();
    }

    static Signed decode(SignedText signed) {
        return new Signed(signed.getText().toByteArray(), signed.getSignature().toByteArray());
    }

    /** What is said for people: in one line, cut if it is too long. */
    static String words(String text) {
        return words(text, WORDS_MAX);
    }

    static String words(String text, int most) {
        return Heard.text(text, most);
    }

    static String address(String address) {
        if (address.length() > ADDRESS_MAX || !address.matches("[A-Za-z0-9._:\\[\\]-]+:[0-9]{1,5}")) {
            throw HoldfastException.misuse(
                    "an address '" + (address.length() > ADDRESS_MAX ? address.length() + " letters" : address) + "'",
                    "write host:port");
        }
        return address;
    }

    static io.holdfast.sweep.proto.Frame encode(Frame frame) {
        io.holdfast.sweep.proto.Frame.Builder message = io.holdfast.sweep.proto.Frame.newBuilder()
                .setSessionId(encode(frame.session()))
                .setNumber(frame.number());
        for (NodeBatch batch : frame.batches()) {
            byte[] bytes = new byte[batch.fingerprints().length * Long.BYTES];
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().put(batch.fingerprints());
            message.addBatches(io.holdfast.sweep.proto.NodeBatch.newBuilder()
                    .setOrdinal(batch.ordinal())
                    .setFirstSequence(batch.firstSequence())
                    .setFingerprints(UnsafeByteOperations.unsafeWrap(bytes)));
        }
        return message.build();
    }

    static Frame decode(io.holdfast.sweep.proto.Frame message) {
        List<NodeBatch> batches = new ArrayList<>(message.getBatchesCount());
        for (io.holdfast.sweep.proto.NodeBatch batch : message.getBatchesList()) {
            ByteString bytes = batch.getFingerprints();
            if (bytes.size() % FINGERPRINT_BYTES != 0) {
                throw HoldfastException.misuse(
                        "fingerprints of " + bytes.size() + " bytes", "send " + FINGERPRINT_BYTES + " bytes each");
            }
            long[] fingerprints = new long[bytes.size() / Long.BYTES];
            bytes.asReadOnlyByteBuffer()
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .asLongBuffer()
                    .get(fingerprints);
            batches.add(new NodeBatch(batch.getOrdinal(), batch.getFirstSequence(), fingerprints));
        }
        return new Frame(decode(message.getSessionId()), message.getNumber(), batches);
    }

    static io.holdfast.sweep.proto.FrameReply encode(FrameReply reply) {
        return io.holdfast.sweep.proto.FrameReply.newBuilder()
                .setAcknowledged(reply.acknowledged())
                .setMissingFrom(reply.missingFrom())
                .setMissingTo(reply.missingTo())
                .build();
    }

    static FrameReply decode(io.holdfast.sweep.proto.FrameReply message) {
        return new FrameReply(message.getAcknowledged(), message.getMissingFrom(), message.getMissingTo());
    }

    static StartSessionRequest encode(SessionStart start) {
        StartSessionRequest.Builder message = StartSessionRequest.newBuilder()
                .setSessionId(encode(start.key()))
                .setSeed(start.seed())
                .setSumKeyHigh(start.keys().high())
                .setSumKeyLow(start.keys().low());
        for (NodeToBuild node : start.nodes()) {
            message.addNodes(io.holdfast.sweep.proto.NodeToBuild.newBuilder()
                    .setNodeId(node.node().name())
                    .setWords(node.geometry().words())
                    .setBlocks(node.geometry().blocks()));
        }
        return message.build();
    }

    static SessionStart decode(StartSessionRequest message) {
        List<NodeToBuild> nodes = new ArrayList<>();
        for (io.holdfast.sweep.proto.NodeToBuild node : message.getNodesList()) {
            nodes.add(new NodeToBuild(
                    new NodeId(node.getNodeId()), new FilterGeometry(node.getWords(), node.getBlocks())));
        }
        return new SessionStart(
                decode(message.getSessionId()),
                message.getSeed(),
                new Tally.Keys(message.getSumKeyHigh(), message.getSumKeyLow()),
                nodes);
    }

    static io.holdfast.sweep.proto.NodeBuilt encode(NodeBuilt built) {
        return io.holdfast.sweep.proto.NodeBuilt.newBuilder()
                .setNodeId(built.node().name())
                .setCount(built.sum().count())
                .setSumHigh(built.sum().high())
                .setSumLow(built.sum().low())
                .setDistinctLeast(built.distinctLeast())
                .setDigest(ByteString.copyFrom(HexFormat.of().parseHex(built.digest())))
                .setProblem(words(built.problem(), WORDS_OF_A_NODE_MAX))
                .build();
    }

    static NodeBuilt decode(io.holdfast.sweep.proto.NodeBuilt built) {
        int digest = built.getDigest().size();
        if (digest != DIGEST_BYTES && digest != 0) {
            throw HoldfastException.misuse("a digest of " + digest + " bytes", "send " + DIGEST_BYTES + ", or none");
        }
        return new NodeBuilt(
                new NodeId(built.getNodeId()),
                new Tally.Sum(built.getCount(), built.getSumHigh(), built.getSumLow()),
                built.getDistinctLeast(),
                HexFormat.of().formatHex(built.getDigest().toByteArray()),
                words(built.getProblem(), WORDS_OF_A_NODE_MAX));
    }
}
