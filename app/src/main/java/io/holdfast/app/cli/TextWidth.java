package io.holdfast.app.cli;

import java.util.Locale;

/** How many columns of a terminal a text takes: none for marks that combine, two for wide letters. */
final class TextWidth {

    /** East Asian scripts, full-width forms and pictographs: the blocks of Unicode's East_Asian_Width W and F. */
    private static final int[][] WIDE = {
        {0x1100, 0x115F},
        {0x2E80, 0x303E},
        {0x3041, 0xA4CF},
        {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF},
        {0xFE30, 0xFE6F},
        {0xFF00, 0xFF60},
        {0xFFE0, 0xFFE6},
        {0x1F300, 0x1F64F},
        {0x1F680, 0x1F6FF},
        {0x1F900, 0x1FAFF},
        {0x20000, 0x3FFFD},
    };

    private TextWidth() {}

    static int of(String text) {
        return text.codePoints().map(TextWidth::of).sum();
    }

    private static int of(int letter) {
        return switch (Character.getType(letter)) {
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.FORMAT -> 0;
            default -> isWide(letter) ? 2 : 1;
        };
    }

    private static boolean isWide(int letter) {
        for (int[] block : WIDE) {
            if (letter >= block[0] && letter <= block[1]) {
                return true;
            }
        }
        return false;
    }

    /** Control characters written out, so that a name can neither break a line nor colour a terminal. */
    static String visible(String text) {
        if (text.codePoints().noneMatch(Character::isISOControl)) {
            return text;
        }
        StringBuilder visible = new StringBuilder();
        text.codePoints().forEach(letter -> {
            switch (letter) {
                case '\n' -> visible.append("\\n");
                case '\r' -> visible.append("\\r");
                case '\t' -> visible.append("\\t");
                default -> {
                    if (Character.isISOControl(letter)) {
                        visible.append(String.format(Locale.ROOT, "\\u%04x", letter));
                    } else {
                        visible.appendCodePoint(letter);
                    }
                }
            }
        });
        return visible.toString();
    }
}
