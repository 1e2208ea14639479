package io.holdfast.bench.link;

import java.util.List;

/** A client that calls one script. Arguments and replies are bytes, as in the product. */
interface LinkContender extends AutoCloseable {

    String name();

    /** One call; returns when the reply is there. Called by many virtual threads at once. */
    Object call(byte[] key, List<byte[]> arguments);

    /** Many calls, sent together; returns when the last reply is there. */
    void batch(byte[] key, List<List<byte[]>> calls);

    @Override
    void close();
}
