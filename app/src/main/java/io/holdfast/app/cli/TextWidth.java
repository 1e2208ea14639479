package io.holdfast.app.cli;

/** How many columns of a terminal a text takes, as far as names need it: none for marks that combine, two for wide letters. */
final class TextWidth {

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

    /** East Asian scripts, full-width forms and pictographs; the blocks of Unicode's East_Asian_Width W and F. */
    private static boolean isWide(int letter) {
        return letter >= 0x1100 && letter <= 0x115F
                || letter >= 0x2E80 && letter <= 0xA4CF && letter != 0x303F
                || letter >= 0xAC00 && letter <= 0xD7A3
                || letter >= 0xF900 && letter <= 0xFAFF
                || letter >= 0xFE30 && letter <= 0xFE6F
                || letter >= 0xFF00 && letter <= 0xFF60
                || letter >= 0xFFE0 && letter <= 0xFFE6
                || letter >= 0x1F300 && letter <= 0x1F64F
                || letter >= 0x1F680 && letter <= 0x1F6FF
                || letter >= 0x1F900 && letter <= 0x1FAFF
                || letter >= 0x20000 && letter <= 0x3FFFD;
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
                        visible.append(String.format("\\u%04x", letter));
                    } else {
                        visible.appendCodePoint(letter);
                    }
                }
            }
        });
        return visible.toString();
    }
}
