package io.mooncake.bench.cli;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads {@code 100ms}, {@code 5s}, {@code 10min}. */
final class DurationConverter implements ITypeConverter<Duration> {
    private static final Pattern FORMAT = Pattern.compile("(\\d{1,9})(ms|s|min|m)");

    @Override
    public Duration convert(String text) {
        Matcher matcher = FORMAT.matcher(text);
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + text + "' is no time: write 100ms, 5s or 10min");
        }
        long number = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            default -> Duration.ofMinutes(number);
        };
    }
}
