package io.holdfast.app.cli;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** How many of something to show: a whole number from 1 up. */
public final class AtLeastOne implements ITypeConverter<Integer> {

    @Override
    public Integer convert(String text) {
        try {
            int number = Integer.parseInt(text);
            if (number >= 1) {
                return number;
            }
        } catch (NumberFormatException _) {
            // refused below, in the same words
        }
        throw new TypeConversionException("'" + text + "' is not a whole number from 1 to " + Integer.MAX_VALUE);
    }
}
