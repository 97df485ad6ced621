"""How Sphinx builds the documentation: offline, and with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "mcpstreams"
author = "mcpstreams contributors"
copyright = "2026, mcpstreams contributors"
release = "0.1.0"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinxcontrib_trio",
    "docstrings",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]

# The reference is generated from the code, so that no module can be forgotten in it.
autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Wire", "Spec"]
default_role = "code"  # docstrings quote code in single backticks

nitpicky = True
nitpick_ignore_regex = [
    # The build is offline: there is no inventory of other projects to link into.
    (r"py:.*", r"(abc|attr|attrs|collections|enum|ssl|trio|types|typing)(\..*)?"),
    # Type variables have no page to link to; they are one letter, or end in a capital T.
    (r"py:(class|obj)", r"(.*\.)?([A-Z]|[A-Z][a-z]+T)"),
]

html_theme = "furo"
html_title = "mcpstreams"
html_copy_source = False
html_show_sphinx = False
