package io.mooncake.bench.engine.ffi;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A struct of parameters: its fields in order, each with the value that the library is expected to give it by itself. Where it gives another one,
 * the fields are not where they are taken to be. Immutable.
 */
final class Parameters {
    private final String name;
    private final StructLayout layout;
    private final Map<String, Place> places;

    /** One of its fields; an address is expected to be null. */
    record Field(String name, ValueLayout type, Object byDefault) {}

    private record Place(long offset, Field field) {}

    Parameters(String name, Field... fields) {
        this.name = name;
        List<MemoryLayout> all = new ArrayList<>();
        places = new LinkedHashMap<>();
        long at = 0;
        for (Field field : fields) {
            at = pad(all, at, field.type.byteAlignment());
            places.put(field.name, new Place(at, field));
            all.add(field.type.withName(field.name));
            at += field.type.byteSize();
        }
        pad(all, at, Long.BYTES);
        layout = MemoryLayout.structLayout(all.toArray(MemoryLayout[]::new)).withName(name);
    }

    private static long pad(List<MemoryLayout> all, long at, long alignment) {
        long next = Math.ceilDiv(at, alignment) * alignment;
        if (next > at) {
            all.add(MemoryLayout.paddingLayout(next - at));
        }
        return next;
    }

    StructLayout layout() {
        return layout;
    }

    /** That the library gave every field the value that is expected. */
    MemorySegment checked(MemorySegment defaults) {
        for (Place place : places.values()) {
            Object found = get(defaults, place);
            if (!found.equals(place.field.byDefault)) {
                throw new MooncakeException(Kind.CONFIG_ERROR, "llama.cpp: " + name + "." + place.field.name + " is "
                        + found + " by default instead of " + place.field.byDefault
                        + ": this is not the struct of build " + LlamaLibrary.BUILD);
            }
        }
        return defaults;
    }

    private static Object get(MemorySegment struct, Place place) {
        return switch (place.field.type) {
            case ValueLayout.OfInt type -> struct.get(type, place.offset);
            case ValueLayout.OfFloat type -> struct.get(type, place.offset);
            case ValueLayout.OfBoolean type -> struct.get(type, place.offset);
            case AddressLayout type -> struct.get(type, place.offset).address();
            default -> throw new IllegalArgumentException("a field of the type " + place.field.type);
        };
    }

    void set(MemorySegment struct, String field, int value) {
        struct.set(ValueLayout.JAVA_INT, place(field).offset, value);
    }

    void set(MemorySegment struct, String field, boolean value) {
        struct.set(ValueLayout.JAVA_BOOLEAN, place(field).offset, value);
    }

    private Place place(String field) {
        Place place = places.get(field);
        if (place == null) {
            throw new IllegalArgumentException(name + " has no " + field);
        }
        return place;
    }
}
