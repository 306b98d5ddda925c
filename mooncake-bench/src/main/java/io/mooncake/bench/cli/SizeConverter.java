package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads options that are sizes ({@code 64KiB}), with the one parser of sizes. */
final class SizeConverter implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
        try {
            return ByteSize.parse("size", text);
        } catch (MooncakeException e) {
            throw new TypeConversionException(String.valueOf(e.getMessage()));
        }
    }
}
