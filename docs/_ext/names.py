"""Lets the API reference name what the code names: aliases, and what an annotation means where it stands.

* An alias is described although it has no text of its own: its name and what it stands for say it all.
* A name in an annotation means what it means in its module: a class of another module, an alias, a `NewType`. Sphinx
  would look for a class of that name everywhere, and may find two, or none.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path

from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("mcpstreams_sansio", "trio_bindings")
BEFORE_REFERENCES_ARE_RESOLVED = 5


def analyzers() -> Iterable[tuple[str, ModuleAnalyzer]]:
    """Return the name and the source of every module; none is imported for it, one that cannot be is not needed."""
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        analyzer = ModuleAnalyzer.for_file(str(path), module)
        analyzer.analyze()
        yield module, analyzer


def aliases(analyzer: ModuleAnalyzer) -> Iterable[str]:
    """Return the names of the public aliases of a module."""
    for (scope, name), annotation in analyzer.annotations.items():
        if not scope and annotation == "TypeAlias" and not name.startswith("_"):
            yield name


def full_names_of_aliases() -> dict[str, str]:
    """Return what `autodoc_type_aliases` needs: signatures name an alias, not all that it stands for.

    Where two modules have an alias of one name, Sphinx could not tell them apart; signatures say what they stand for.
    """
    found = [(name, f"{module}.{name}") for module, analyzer in analyzers() for name in aliases(analyzer)]
    homes = Counter(name for name, _ in found)
    return {name: full for name, full in found if homes[name] == 1}


def describe_aliases(_app: Sphinx) -> None:
    """Give every alias that has no text one, since autodoc passes over it otherwise."""
    for module, analyzer in analyzers():
        values = {
            node.target.id: node.value
            for node in ast.parse(analyzer.code).body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
        }
        for name in aliases(analyzer):
            text = [f"Stands for {members(values[name])}.", "", ":meta hide-value:", ""]
            analyzer.attr_docs.setdefault(("", name), text)
        ModuleAnalyzer.cache["module", module] = analyzer


def members(alias: ast.expr) -> str:
    """Return what an alias stands for, the classes of a union as links."""
    match alias:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{members(left)} or {members(right)}"
        case ast.Name(id=name):
            return f":py:class:`{name}`"
        case _:
            return f"``{ast.unparse(alias)}``"


def full_name(name: str, module: str, described: Container[str]) -> str | None:
    """Return the full name of what a name means in a module, or None where it means nothing there.

    Args:
        name: A name as an annotation has it.
        module: The module in which the annotation stands.
        described: Full names of everything that is described somewhere.
    """
    if module not in sys.modules or name not in vars(sys.modules[module]):
        return None
    value = vars(sys.modules[module])[name]
    if isinstance(value, type) and value.__name__ == name:
        return f"{value.__module__}.{value.__qualname__}"
    holders = (other for other, held in sorted(sys.modules.items()) if getattr(held, name, None) is value)
    return next((f"{other}.{name}" for other in holders if f"{other}.{name}" in described), None)


class NameInModule(SphinxPostTransform):
    """Points the references that annotations make to what their names mean."""

    default_priority = BEFORE_REFERENCES_ARE_RESOLVED

    def run(self, **_kwargs: object) -> None:
        """Rewrite the references of one document in place, before anybody follows them."""
        domain = self.env.domains.python_domain
        for reference in self.document.findall(pending_xref):
            if (reference.get("refdomain"), reference.get("reftype")) != ("py", "class"):
                continue
            target = full_name(reference["reftarget"], reference.get("py:module") or "", domain.objects)
            if target is None:
                continue
            reference["reftarget"] = target
            if target in domain.objects and domain.objects[target].objtype != "class":
                reference["reftype"] = "obj"


def setup(app: Sphinx) -> dict[str, object]:
    """Let Sphinx call all of this."""
    app.connect("builder-inited", describe_aliases)
    app.add_post_transform(NameInModule)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
