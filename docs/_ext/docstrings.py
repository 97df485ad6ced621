"""Lets docstrings be written for those who read the source, and still be exact reStructuredText.

* The text under a field or an enumeration's member is a sentence. Napoleon would take what comes before a colon in it
  for the field's type.
* A plural of quoted code, as in two `Secret`s, needs a separator before its ending.
* A name in an annotation means what it means in its module: a class of another module, an alias, a `NewType`. Sphinx
  would look for a class of that name everywhere, and may find two, or none.
* An alias is described although it has no text of its own: its name and what it stands for say it all.
* A field's default is its value, not the place where attrs keeps it.
"""

from __future__ import annotations

import ast
import enum
import re
import sys
from collections.abc import Container, Iterable
from pathlib import Path

import attrs
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("mcpstreams_sansio", "trio_bindings")
FIELDS = {"attribute", "data", "property"}
BEFORE_NAPOLEON = 400
BEFORE_REFERENCES_ARE_RESOLVED = 5


def write_exactly(_app: Sphinx, what: str, _name: str, _documented: object, _options: object, lines: list[str]) -> None:
    """Rewrite the lines of one docstring in place."""
    lines[:] = [re.sub(r"(?<!`)(`[^`]+`)(?=[a-z])", r"\1\\ ", line) for line in lines]
    if what in FIELDS and lines:
        lines[0] = f": {lines[0]}"  # an empty type, so that the colons that follow are the sentence's own


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
    """Return what `autodoc_type_aliases` needs: signatures name an alias, not all that it stands for."""
    return {name: f"{module}.{name}" for module, analyzer in analyzers() for name in aliases(analyzer)}


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
    app.connect("autodoc-process-signature", write_signature)
    app.connect("autodoc-process-docstring", write_exactly, priority=BEFORE_NAPOLEON)
    app.add_post_transform(NameInModule)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
