package io.holdfast.examples;

import io.holdfast.redis.graph.ValueId;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A page of the B-tree. In the graph its bytes are the keys (and texts), its children are the pages below. */
sealed interface Page {

    int MOST = 8;

    int size();

    /** The smallest key below; of an empty page the empty text. */
    String first();

    /** This page and its right neighbour as one, however large. */
    Page join(Page right);

    /** The items from one place to another. */
    Page part(int from, int to);

    byte[] toBytes();

    List<ValueId> childIds();

    default boolean isUnderfull() {
        return size() < MOST / 2;
    }

    /** Itself if it is small enough, otherwise its halves. */
    default List<Page> split() {
        return size() <= MOST ? List.of(this) : List.of(part(0, size() / 2), part(size() / 2, size()));
    }

    static Page of(byte[] bytes, List<ValueId> children) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            boolean leaf = in.readBoolean();
            int size = in.readInt();
            NavigableMap<String, String> entries = new TreeMap<>();
            List<Child> below = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                if (leaf) {
                    entries.put(in.readUTF(), in.readUTF());
                } else {
                    below.add(new Child(in.readUTF(), children.get(i)));
                }
            }
            return leaf ? new Leaf(entries) : new Inner(below);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes to a page's bytes. */
    interface Content {
        void write(DataOutputStream out) throws IOException;
    }

    private static byte[] bytes(boolean leaf, int size, Content content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeBoolean(leaf);
            out.writeInt(size);
            content.write(out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** Keys and what they map to. */
    record Leaf(NavigableMap<String, String> entries) implements Page {

        static final Leaf EMPTY = new Leaf(new TreeMap<>());

        /** With the key put, or removed where the value is null. */
        Leaf with(String key, @Nullable String value) {
            NavigableMap<String, String> next = new TreeMap<>(entries);
            if (value == null) {
                next.remove(key);
            } else {
                next.put(key, value);
            }
            return new Leaf(next);
        }

        @Override
        public int size() {
            return entries.size();
        }

        @Override
        public String first() {
            return entries.isEmpty() ? "" : entries.firstKey();
        }

        @Override
        public Leaf join(Page right) {
            NavigableMap<String, String> all = new TreeMap<>(entries);
            all.putAll(((Leaf) right).entries);
            return new Leaf(all);
        }

        @Override
        public Leaf part(int from, int to) {
            NavigableMap<String, String> some = new TreeMap<>();
            new ArrayList<>(entries.entrySet()).subList(from, to).forEach(e -> some.put(e.getKey(), e.getValue()));
            return new Leaf(some);
        }

        @Override
        public byte[] toBytes() {
            return bytes(true, size(), out -> {
                for (var entry : entries.entrySet()) {
                    out.writeUTF(entry.getKey());
                    out.writeUTF(entry.getValue());
                }
            });
        }

        @Override
        public List<ValueId> childIds() {
            return List.of();
        }
    }

    /** A page below and its smallest key when it was written. */
    record Child(String first, ValueId id) {}

    /** Pages below, in the order of their keys. */
    record Inner(List<Child> children) implements Page {

        /** The child that has the key, if any has. */
        int indexOf(String key) {
            int at = children.size() - 1;
            while (at > 0 && children.get(at).first().compareTo(key) > 0) {
                at--;
            }
            return at;
        }

        Inner replace(int from, int to, List<Child> with) {
            List<Child> next = new ArrayList<>(children.subList(0, from));
            next.addAll(with);
            next.addAll(children.subList(to, children.size()));
            return new Inner(next);
        }

        @Override
        public int size() {
            return children.size();
        }

        @Override
        public String first() {
            return children.getFirst().first();
        }

        @Override
        public Inner join(Page right) {
            return replace(size(), size(), ((Inner) right).children);
        }

        @Override
        public Inner part(int from, int to) {
            return new Inner(children.subList(from, to));
        }

        @Override
        public byte[] toBytes() {
            return bytes(false, size(), out -> {
                for (Child child : children) {
                    out.writeUTF(child.first());
                }
            });
        }

        @Override
        public List<ValueId> childIds() {
            return children.stream().map(Child::id).toList();
        }
    }
}
