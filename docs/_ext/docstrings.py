"""Lets docstrings be written for those who read the source, and still be exact reStructuredText.

* The text under a field or an enumeration's member is a sentence. Napoleon would take what comes before a colon in it
  for the field's type.
* A plural of quoted code, as in two `Secret`s, needs a separator before its ending.
* A name in an annotation may be an alias or a `NewType`, which Sphinx describes as data and looks up as a class.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

FIELDS = {"attribute", "data", "property"}
BEFORE_NAPOLEON = 400


def write_exactly(_app: Sphinx, what: str, _name: str, _documented: object, _options: object, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    lines[:] = [re.sub(r"(?<!`)(`[^`]+`)(?=[a-z])", r"\1\\ ", line) for line in lines]
    if what in FIELDS and lines:
        lines[0] = f": {lines[0]}"  # an empty type, so that the colons that follow are the sentence's own


def find_alias(
    app: Sphinx, environment: BuildEnvironment, reference: pending_xref, text: nodes.TextElement
) -> nodes.reference | None:
    """Look for what an annotation names among everything that is described, not only among the classes."""
    if (reference.get("refdomain"), reference.get("reftype")) != ("py", "class"):
        return None
    domain = environment.domains.python_domain
    return domain.resolve_xref(
        environment, reference["refdoc"], app.builder, "obj", reference["reftarget"], reference, text
    )


def setup(app: Sphinx) -> dict[str, object]:
    """Let Sphinx call both."""
    app.connect("autodoc-process-docstring", write_exactly, priority=BEFORE_NAPOLEON)
    app.connect("missing-reference", find_alias)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
