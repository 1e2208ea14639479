/**
 * What every command shares: options, output as text or JSON, exit codes, the form of errors. A command extends {@link
 * io.holdfast.app.cli.CliCommand} and returns an {@link io.holdfast.app.cli.Answer}; all else is done here.
 */
@NullMarked
package io.holdfast.app.cli;

import org.jspecify.annotations.NullMarked;
