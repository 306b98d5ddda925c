package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.math.BigDecimal;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The one reader and writer of sizes. Units are binary and of any case: {@code 64KiB}, {@code 64k} and {@code 64KB} are all 65,536 bytes.
 */
public final class ByteSize {
    private static final Pattern TEXT = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*(?:([kmgtp])(?:i?b)?|b)?",
            Pattern.CASE_INSENSITIVE);
    private static final String UNITS = "kmgtp";

    private ByteSize() {}

    /**
     * Reads a size.
     *
     * @param name what is read, for the message
     * @param text a number, optionally with a fraction, and a unit (none = bytes)
     * @return bytes, not negative
     * @throws MooncakeException CONFIG_ERROR naming both when it is no size, has a part of a byte or passes 2^63
     */
    public static long parse(String name, String text) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (matcher.matches()) {
            String unit = matcher.group(2);
            int power = unit == null ? 0 : 1 + UNITS.indexOf(unit.toLowerCase(Locale.ROOT));
            try {
                return new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(1L << (10 * power)))
                        .longValueExact();
            } catch (ArithmeticException e) {
                throw new MooncakeException(Kind.CONFIG_ERROR,
                        name + " = '" + text + "' is not a whole number of bytes below 2^63", e);
            }
        }
        throw new MooncakeException(Kind.CONFIG_ERROR,
                name + " = '" + text + "' is not a size: write for example 65536, 64KiB, 1.5GiB");
    }

    /**
     * Writes a size so that {@link #parse} gives it back.
     *
     * @param bytes not negative
     * @return the largest unit that divides it
     */
    public static String format(long bytes) {
        int power = 0;
        long number = bytes;
        while (number != 0 && number % 1024 == 0 && power < UNITS.length()) {
            number /= 1024;
            power++;
        }
        return power == 0 ? bytes + "B" : number + UNITS.substring(power - 1, power).toUpperCase(Locale.ROOT) + "iB";
    }

    /**
     * Writes a size for people, rounded to three digits.
     *
     * @param bytes any
     * @return for example {@code 1.46 GiB}
     */
    public static String rounded(double bytes) {
        int power = 0;
        double number = bytes;
        while (Math.abs(number) >= 1024 && power < UNITS.length()) {
            number /= 1024;
            power++;
        }
        String unit = power == 0 ? "B" : UNITS.substring(power - 1, power).toUpperCase(Locale.ROOT) + "iB";
        return String.format(Locale.ROOT, power == 0 || number >= 100 ? "%.0f %s" : "%.2f %s", number, unit);
    }
}
