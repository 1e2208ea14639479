package io.holdfast.app;

import io.holdfast.app.cli.Cli;
import io.holdfast.app.cli.Console;

/** The executable. */
public final class Main {

    private Main() {}

    public static void main(String[] args) {
        System.exit(
                new Cli(new HoldfastCommands(), Console.ofProcess()).run(args).code());
    }
}
