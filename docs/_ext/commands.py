"""The command `mcpstreams` as text: what it can be told, taken from the command itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

import click

from docs._ext.rest import heading, table
from trio_bindings.cli.command import command


def commands() -> list[str]:
    """Return every command with its arguments and its options."""
    lines = []
    for name, each in sorted(command.commands.items()):
        lines += [*heading(f"mcpstreams {name}"), *usage(name, each), *paragraphs(each), *options(each)]
    return lines


def usage(name: str, each: click.Command) -> list[str]:
    """Return how a command is called."""
    arguments = [parameter.make_metavar(click.Context(each)) for parameter in arguments_of(each)]
    return [".. code-block:: console", "", f"   $ {' '.join(['mcpstreams', name, '[OPTIONS]', *arguments])}", ""]


def arguments_of(each: click.Command) -> Iterable[click.Argument]:
    """Return what a command is given without a name."""
    return (parameter for parameter in each.params if isinstance(parameter, click.Argument))


def paragraphs(each: click.Command) -> list[str]:
    """Return what a command says of itself."""
    return [*inspect.cleandoc(each.help or "").splitlines(), ""]


def options(each: click.Command) -> list[str]:
    """Return a table of a command's options."""
    named = [parameter for parameter in each.params if isinstance(parameter, click.Option)]
    return table(["Option", "Meaning"], [row(option) for option in named])


def row(option: click.Option) -> Sequence[str]:
    """Return an option and what it means, with its default."""
    shown = option.get_help_record(click.Context(click.Command("any")))
    assert shown is not None, "no option is hidden"
    names, meaning = shown
    return f"``{names}``", meaning
