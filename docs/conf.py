"""How Sphinx builds the documentation: offline, and with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path

# The packages that are described, and `docs._ext`, are those of this checkout, whatever is installed.
sys.path.insert(0, str(Path(__file__).parent.parent))

# The line above is what makes these importable.
from docs._ext.names import full_names_of_aliases
from mcpstreams_sansio.version import VERSION

project = "mcpstreams"
author = "mcpstreams contributors"
copyright = "2026, mcpstreams contributors"
release = VERSION

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinxcontrib_trio",
    "docs._ext.docstrings",
    "docs._ext.names",
    "docs._ext.state_tables",
]
exclude_patterns = ["_build", "_ext", "_static", "_templates", "examples"]
templates_path = ["_templates"]

# The reference is generated from the code, so that no module can be forgotten in it.
autosummary_generate = True
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = full_names_of_aliases()
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Wire", "Spec"]
default_role = "code"  # docstrings quote code in single backticks

nitpicky = True
nitpick_ignore_regex = [
    # The build is offline: there is no inventory of other projects to link into.
    (r"py:.*", r"(abc|attrs?|click|collections|contextlib|enum|h11|httpx2|pathlib|ssl|trio|types|typing)(\..*)?"),
    # Type variables have no page to link to; they are one letter, or end in a capital T.
    (r"py:(class|obj)", r"(.*\.)?([A-Z]|[A-Z][a-z]+Ts?(_co|_contra)?)"),
    # Sphinx writes an alias so that stands between the brackets of a generic class; there is no such class.
    (r"py:class", "TypeAliasForwardRef"),
    # What a module keeps to itself is not described.
    (r"py:(class|obj)", r"(.*\.)?_[A-Za-z]+"),
]

html_theme = "furo"
html_title = "mcpstreams"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sphinx = False
