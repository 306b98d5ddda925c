package io.mooncake.bench.cli;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Objects;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command line of the bench. Every figure that it prints it also writes as JSON.
 *
 * <p>Exit codes: 0 the run went well, 1 it failed (for example a byte was wrong), 2 the input was bad. Bad input is one line on
 * standard error, whatever was bad about it.
 */
@Command(name = "mooncake-bench", description = "Drives and measures Mooncake for Java.", mixinStandardHelpOptions = true, versionProvider = Main.Version.class, subcommands = {
        ReplayCommand.class, ClusterCommand.class, TransferCommand.class, CancelCommand.class, FairCommand.class,
        CrashCommand.class, FileCommand.class, ActivationsCommand.class, FragmentCommand.class, DisaggCommand.class,
        PrefixCommand.class,
        SimulateCommand.class, MicroCommand.class, RegistryCommand.class, DevicesCommand.class, MatrixCommand.class})
public final class Main implements Runnable {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int BAD_INPUT = 2;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    private Main() {}

    /**
     * Runs a command and ends the process with its exit code.
     *
     * @param args the command and its options
     */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    /** The whole command line; its writers can be replaced. */
    static CommandLine commandLine() {
        return new CommandLine(new Main()).setParameterExceptionHandler((e, args) -> badInput(e.getCommandLine(), e))
                .setExecutionExceptionHandler((e, command, parsed) -> failed(command, e))
                .setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(),
                "no command: there are " + String.join(", ", spec.subcommands().keySet()));
    }

    private static int badInput(CommandLine command, Exception e) {
        say(command, e, "; --help lists the options");
        return BAD_INPUT;
    }

    private static int failed(CommandLine command, Exception e) {
        if (e instanceof BadInputException) {
            say(command, e, "");
            return BAD_INPUT;
        }
        if (e instanceof MooncakeException mooncake) {
            say(command, e, "");
            return mooncake.kind() == Kind.CONFIG_ERROR ? BAD_INPUT : FAILED;
        }
        if (e instanceof IOException) {
            say(command, e, "");
            return FAILED;
        }
        // Nobody foresaw this one: its origin is worth more than brevity.
        e.printStackTrace(command.getErr());
        return FAILED;
    }

    private static void say(CommandLine command, Exception e, String hint) {
        String message = Objects.requireNonNullElse(e.getMessage(), e.toString())
                .strip()
                .replaceAll("\\s*\\R\\s*", " ");
        PrintWriter err = command.getErr();
        err.println(command.getCommandSpec().qualifiedName() + ": " + message + hint);
        err.flush();
    }

    /** What the jar says it is. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Main.class.getPackage().getImplementationVersion();
            return new String[]{"mooncake-bench " + Objects.requireNonNullElse(version, "(not packaged)") + ", Java "
                    + Runtime.version()};
        }
    }
}
