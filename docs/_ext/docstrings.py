"""Lets docstrings and classes be written for those who read the source, and be shown exactly.

* The text under a field or an enumeration's member is a sentence. Napoleon would take what comes before a colon in it
  for the field's type.
* A plural of quoted code, as in two `Secret`s, needs a separator before its ending.
* A field's default is its value, not the place where attrs keeps it.
"""

from __future__ import annotations

import enum
import re

import attrs
from sphinx.application import Sphinx

FIELDS = {"attribute", "data", "property"}
BEFORE_NAPOLEON = 400


def write_exactly(_app: Sphinx, what: str, _name: str, _documented: object, _options: object, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    lines[:] = [re.sub(r"(?<!`)(`[^`]+`)(?=[a-z])", r"\1\\ ", line) for line in lines]
    if what in FIELDS and lines:
        lines[0] = f": {lines[0]}"  # an empty type, so that the colons that follow are the sentence's own


def write_signature(
    _app: Sphinx,
    _what: str,
    _name: str,
    documented: object,
    _options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write aliases by their names, and the defaults of a class's fields by their values."""
    if signature is not None and isinstance(documented, type) and attrs.has(documented):
        signature = with_defaults(signature, documented)
    return plain_aliases(signature), plain_aliases(returns)


def with_defaults(signature: str, documented: type[attrs.AttrsInstance]) -> str:
    """Write the defaults of a class's fields as values; those that are made anew each time as three dots."""
    defaults = {field.name: field.default for field in attrs.fields(documented)}

    def shown(found: re.Match[str]) -> str:
        match defaults.get(found[1]):
            case enum.Enum() as member:
                return f"{type(member).__name__}.{member.name}"
            case bool() | int() | float() | str() | None as value:
                return repr(value)
            case _:
                return "..."

    return re.sub(r"attr_dict\['(\w+)'\]\.default", shown, signature).replace("NOTHING", "...")


def plain_aliases(signature: str | None) -> str | None:
    """Write an alias inside another type, as in a list of effects, as it is written outside of one."""
    return signature and re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"\1", signature)


def setup(app: Sphinx) -> dict[str, object]:
    """Let Sphinx call all of this."""
    app.connect("autodoc-process-docstring", write_exactly, priority=BEFORE_NAPOLEON)
    app.connect("autodoc-process-signature", write_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
