package io.holdfast.testkit;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Finds the messages in a stream of the Redis protocol (2 and 3, requests and replies), however the stream is cut into
 * pieces. It looks at lengths and at the names of commands, and keeps nothing else. What is not the Redis protocol
 * makes it {@linkplain Event#OPAQUE blind} for the rest of the stream.
 */
final class RespReader {

    enum Event {
        /** A message starts at {@link #position()}; {@link #type()} is its first byte. */
        START,
        /** The {@link #name()} of a request is known, before its end. */
        NAME,
        /** The message ended just before {@link #position()}. */
        END,
        /** All bytes were read. */
        MORE,
        /** This is not the Redis protocol. */
        OPAQUE
    }

    private enum State {
        /** Before the first byte of a message or of an element of one. */
        TYPE,
        /** In the line that tells a length. */
        LENGTH,
        /** In a line that is the whole value. */
        LINE,
        /** In the bytes of a string, and the line end after it. */
        BYTES,
        /** In a request that is one line of words. */
        INLINE,
        OPAQUE
    }

    private static final String TYPES = "*~>%|$=!+-:_#,(";
    private static final int NAME_BYTES_MAX = 64;

    private final Deque<Long> elementsLeft = new ArrayDeque<>();
    private final StringBuilder length = new StringBuilder();
    private final StringBuilder name = new StringBuilder();
    private final boolean requests;
    private State state = State.TYPE;
    private char type;
    private char element;
    private long bytesLeft;
    private boolean naming;
    private boolean startTold;
    private int position;

    /** @param requests whether the stream is of requests, which may also be plain lines */
    RespReader(boolean requests) {
        this.requests = requests;
    }

    int position() {
        return position;
    }

    char type() {
        return type;
    }

    String name() {
        return name.toString();
    }

    /** Reads on in the bytes, from {@code from} up to {@code to}, until something happens. */
    Event next(byte[] bytes, int from, int to) {
        position = from;
        while (position < to) {
            Event event = switch (state) {
                case TYPE -> type(bytes[position]);
                case LENGTH -> length(bytes[position++]);
                case LINE -> bytes[position++] == '\n' ? elementEnds() : Event.MORE;
                case BYTES -> string(bytes, to);
                case INLINE -> inline(bytes[position++]);
                case OPAQUE -> Event.OPAQUE;
            };
            if (event != Event.MORE) {
                return event;
            }
        }
        return Event.MORE;
    }

    private Event type(byte first) {
        boolean top = elementsLeft.isEmpty();
        if (top && !startTold) {
            startTold = true;
            type = (char) first;
            name.setLength(0);
            naming = requests;
            return Event.START;
        }
        element = (char) first;
        if (top && requests && element != '*') {
            state = State.INLINE;
            return Event.MORE;
        }
        position++;
        if (TYPES.indexOf(element) < 0) {
            state = State.OPAQUE;
            return Event.OPAQUE;
        }
        length.setLength(0);
        state = "*~>%|$=!".indexOf(element) >= 0 ? State.LENGTH : State.LINE;
        return Event.MORE;
    }

    private Event length(byte next) {
        if (next == '\r') {
            return Event.MORE;
        }
        if (next != '\n') {
            length.append((char) next);
            boolean number = length.length() <= 18 && (next == '-' || (next >= '0' && next <= '9'));
            state = number ? State.LENGTH : State.OPAQUE;
            return number ? Event.MORE : Event.OPAQUE;
        }
        long count = length.isEmpty() ? -1 : Long.parseLong(length.toString());
        return switch (element) {
            case '$', '=', '!' -> {
                if (count < 0) {
                    yield elementEnds();
                }
                bytesLeft = count + 2;
                state = State.BYTES;
                yield Event.MORE;
            }
            case '%' -> elements(2 * count);
            case '|' -> {
                elementsLeft.push(2L); // the attributes, and what they are about
                yield elements(2 * count);
            }
            default -> elements(count);
        };
    }

    private Event elements(long count) {
        if (count <= 0) {
            return elementEnds();
        }
        elementsLeft.push(count);
        state = State.TYPE;
        return Event.MORE;
    }

    private Event string(byte[] bytes, int to) {
        int taken = (int) Math.min(bytesLeft, to - position);
        if (naming) {
            long text = Math.min(taken, bytesLeft - 2);
            for (int i = 0; i < text && name.length() < NAME_BYTES_MAX; i++) {
                name.append((char) bytes[position + i]);
            }
        }
        position += taken;
        bytesLeft -= taken;
        if (naming && bytesLeft <= 2) {
            naming = false;
            if (bytesLeft == 0) { // the end is found by the next call
                bytesLeft = 1;
                position--;
            }
            return Event.NAME;
        }
        return bytesLeft == 0 ? elementEnds() : Event.MORE;
    }

    private Event inline(byte next) {
        if (next == '\n') {
            if (naming) {
                naming = false;
                position--;
                return Event.NAME;
            }
            return elementEnds();
        }
        if (naming && next != '\r' && next != ' ') {
            name.append((char) next);
            if (name.length() > NAME_BYTES_MAX) {
                state = State.OPAQUE;
                return Event.OPAQUE;
            }
        } else if (naming && next == ' ' && !name.isEmpty()) {
            naming = false;
            return Event.NAME;
        }
        return Event.MORE;
    }

    private Event elementEnds() {
        state = State.TYPE;
        while (!elementsLeft.isEmpty()) {
            long left = elementsLeft.pop() - 1;
            if (left > 0) {
                elementsLeft.push(left);
                return Event.MORE;
            }
        }
        startTold = false;
        return Event.END;
    }
}
