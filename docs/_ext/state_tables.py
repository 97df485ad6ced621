"""Directives that put into a page what the code says, at build time: a page cannot differ from it.

* `state-table`, `state-graph`, `state-ladder`: a state table as text and as pictures
* `check-order`, `refusals`, `revisions`: the tables of these
* `members`: an enumeration; `limits`: a configuration; `constants`: the numbers that a package gives a name
* `rules`, `surroundings`, `cases`: what is cited, with its tests
* `planted-faults`: deliberate faults, and the searches that find them
* `commands`: the command line
* `drawing`: a kept transcript as a picture
* `worlds`: the worlds in which the project checks itself
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape
from typing import ClassVar, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs._ext import pictures, tables
from docs._ext.commands import commands
from docs._ext.drawings import drawn
from docs._ext.found import find_config, find_enumeration, find_table
from docs._ext.planted import planted_faults
from docs._ext.rules import cases, rules, surroundings
from docs._ext.worlds import worlds

PLAIN: Final[dict[str, Callable[[], list[str]]]] = {
    "cases": cases,
    "check-order": tables.check_order,
    "commands": commands,
    "planted-faults": planted_faults,
    "refusals": tables.refusals,
    "revisions": tables.revisions,
    "worlds": worlds,
}
"""Directives without an argument, and what each of them is replaced by."""

NAMED: Final[dict[str, Callable[[str], list[str]]]] = {
    "constants": tables.constants,
    "limits": lambda name: tables.limits(find_config(name)),
    "members": lambda name: tables.members(find_enumeration(name)),
    "rules": rules,
    "surroundings": surroundings,
    "state-table": lambda name: tables.state_table(find_table(name)),
}
"""The same for directives with one argument: a full name, or the letter of a group of rules."""


class Plain(SphinxDirective):
    """A part of a page that is text made from code."""

    def text(self) -> list[str]:
        """Return the reStructuredText that takes the directive's place."""
        return PLAIN[self.name]()

    def run(self) -> list[nodes.Node]:
        """Return what that text means in this place. It is looked at in each build: the code may be another one."""
        self.env.note_reread()
        try:
            lines = self.text()
        except LookupError as error:
            raise self.error(str(error)) from error
        return self.parse_text_to_nodes("\n".join(lines))


class Named(Plain):
    """The same, about something that the argument names."""

    required_arguments = 1

    def text(self) -> list[str]:
        """Return the reStructuredText that takes the directive's place."""
        return NAMED[self.name](self.arguments[0])


class Ladder(SphinxDirective):
    """A picture of the state table that the argument names; the content is the text for those who do not see it."""

    required_arguments = 1
    has_content = True

    def svg(self) -> str:
        """Return the picture."""
        return pictures.ladder(find_table(self.arguments[0]), " ".join(self.content))

    def run(self) -> list[nodes.Node]:
        """Return the picture as a part of an HTML page, drawn anew in each build."""
        self.env.note_reread()
        try:
            svg = self.svg()
        except LookupError as error:
            raise self.error(str(error)) from error
        return [nodes.raw("", f'<div class="states">{svg}</div>', format="html")]


def places(option: str) -> dict[str, pictures.Point]:
    """Read where states stand on the grid: `LIVE 0 0, GONE 1 1`."""
    found = {}
    for entry in option.split(","):
        name, column, row = entry.split()
        found[name] = (float(column), float(row))
    return found


class Graph(Ladder):
    """The same as boxes and arrows; the option says where each box stands."""

    option_spec: ClassVar = {"places": places}

    def svg(self) -> str:
        """Return the picture."""
        return pictures.graph(find_table(self.arguments[0]), self.options["places"], " ".join(self.content))


class Drawing(SphinxDirective):
    """A picture of the kept transcript that the argument names, shown as an image: its style is its own."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture as a part of an HTML page, drawn anew in each build."""
        self.env.note_reread()
        try:
            title, svg = drawn(self.arguments[0])
        except LookupError as error:
            raise self.error(str(error)) from error
        source = base64.b64encode(svg.encode()).decode()
        image = f'<img class="drawing" alt="{escape(title)}" src="data:image/svg+xml;base64,{source}">'
        return [nodes.raw("", image, format="html")]


def setup(app: Sphinx) -> dict[str, object]:
    """Let Sphinx know the directives."""
    for name in PLAIN:
        app.add_directive(name, Plain)
    for name in NAMED:
        app.add_directive(name, Named)
    app.add_directive("state-graph", Graph)
    app.add_directive("state-ladder", Ladder)
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
