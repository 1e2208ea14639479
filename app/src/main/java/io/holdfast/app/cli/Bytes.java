package io.holdfast.app.cli;

import io.holdfast.Setting;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A size: {@code 512}, {@code 64MiB}. */
public final class Bytes implements ITypeConverter<Long> {

    @Override
    public Long convert(String text) {
        try {
            return Setting.parseBytes(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage());
        }
    }
}
