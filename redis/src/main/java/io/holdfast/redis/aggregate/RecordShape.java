package io.holdfast.redis.aggregate;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.holdfast.HoldfastException;
import io.holdfast.redis.aggregate.Wire.Reader;
import io.holdfast.redis.aggregate.Wire.Writer;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a record, one after the other, in any order: 21 bits of a digest of the name and 3 bits of form, then the
 * value. A field that is absent has its type's default; one that is not known is passed over. So fields may be added and
 * removed, an {@code int} may become a {@code long}; a field that is renamed is another field.
 */
final class RecordShape {

    /** The records that this thread is looking at, to notice one inside itself. */
    private static final ThreadLocal<Set<Class<?>>> MAKING = ThreadLocal.withInitial(HashSet::new);

    private record Field(int tag, Shape shape, MethodHandle accessor, String name) {}

    private final Class<?> type;
    private final Field[] fields;
    private final Map<Integer, Integer> byTag = new HashMap<>();
    private final MethodHandle constructor;

    private RecordShape(Class<?> type) {
        this.type = type;
        RecordComponent[] components = type.getRecordComponents();
        this.fields = new Field[components.length];
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            for (int i = 0; i < components.length; i++) {
                RecordComponent component = components[i];
                String where = type.getSimpleName() + "." + component.getName();
                Method accessor = component.getAccessor();
                accessor.setAccessible(true);
                Shape shape = Shape.of(component.getGenericType(), where);
                int tag = tag(component.getName());
                if (byTag.put(tag, i) != null) {
                    throw HoldfastException.misuse(
                            where + " has the same digest as another field of the record", "rename the field");
                }
                fields[i] = new Field(tag, shape, lookup.unreflect(accessor), where);
            }
            Constructor<?> canonical = type.getDeclaredConstructor(
                    Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new));
            canonical.setAccessible(true);
            this.constructor = lookup.unreflectConstructor(canonical)
                    .asSpreader(Object[].class, components.length)
                    .asType(java.lang.invoke.MethodType.methodType(Object.class, Object[].class));
        } catch (ReflectiveOperationException | InaccessibleObjectException e) {
            throw HoldfastException.misuse(
                    "the record " + type.getName() + " cannot be read: " + e.getMessage(),
                    "open its package to this module, or give a codec of your own");
        }
    }

    static RecordShape of(Class<?> type) {
        Set<Class<?>> making = MAKING.get();
        if (!making.add(type)) {
            throw HoldfastException.misuse(
                    "the record " + type.getName() + " contains itself", "give a codec of your own");
        }
        try {
            return new RecordShape(type);
        } finally {
            making.remove(type);
        }
    }

    static int tag(String name) {
        CRC32C digest = new CRC32C();
        digest.update(name.getBytes(UTF_8));
        return (int) (digest.getValue() & 0x1FFFFF);
    }

    Shape asShape() {
        return Shape.within(this::write, this::read, null);
    }

    void write(Writer out, Object value) {
        for (Field field : fields) {
            Object one = get(field, value);
            if (one != null && !one.equals(field.shape.absent())) {
                out.big((long) field.tag << 3 | field.shape.form(), 3);
                field.shape.write(out, one);
            }
        }
    }

    private static @Nullable Object get(Field field, Object value) {
        try {
            return field.accessor.invoke(value);
        } catch (Throwable e) {
            throw new IllegalArgumentException("reading " + field.name + " failed", e);
        }
    }

    Object read(Reader in) {
        @Nullable Object[] values = new @Nullable Object[fields.length];
        for (int i = 0; i < fields.length; i++) {
            values[i] = fields[i].shape.absent();
        }
        while (in.hasMore()) {
            int head = (int) in.big(3);
            Integer index = byTag.get(head >>> 3);
            int form = head & 7;
            if (index == null) {
                in.pass(form);
            } else if (form != fields[index].shape.form()) {
                throw Wire.corrupt(fields[index].name + " was written as another type, of form " + form);
            } else {
                values[index] = fields[index].shape.read(in);
            }
        }
        try {
            return constructor.invoke(values);
        } catch (Throwable e) {
            throw new IllegalArgumentException("making a " + type.getSimpleName() + " failed", e);
        }
    }
}
