"""State tables, checks, refusals, revisions and limits as reStructuredText, taken from the code.

Nothing here knows Sphinx: the tests read the same text that the pages are made of.
"""

from __future__ import annotations

import ast
import enum
import inspect
import textwrap
from collections.abc import Sequence

import attrs

from docs._ext import rest
from docs._ext.found import AnyTable, first_line, member_texts, numbers_of, texts
from mcpstreams_sansio.client.policy import VERDICTS
from mcpstreams_sansio.http.checks import CHECKS, Check
from mcpstreams_sansio.http.server import STATUS_OF_REASON
from mcpstreams_sansio.tables import Forbidden, Transition
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.revisions import REVISIONS, Revision, RevisionRules

NEVER = "never"


def sides(table: AnyTable) -> tuple[type[enum.IntEnum], type[enum.IntEnum]]:
    """Return the states and the signals of a table."""
    state, signal = next(iter(table))
    return type(state), type(signal)


# ------------------------------------------------------------------------------------------------------- state tables


def state_table(table: AnyTable) -> list[str]:
    """Return a whole state table: what its names mean, at a glance, and every cell with its reason."""
    states, signals = sides(table)
    return [
        *rest.heading("States"),
        *rest.definitions(member_texts(states).items()),
        *rest.heading("Signals"),
        *rest.definitions(member_texts(signals).items()),
        *rest.heading("At a glance"),
        *overview(table),
        *(line for state in states for line in [*rest.heading(f"In ``{state.name}``"), *cells_of(table, state)]),
    ]


def overview(table: AnyTable) -> list[str]:
    """Return every cell without its reason."""
    states, signals = sides(table)
    rows = [[f"``{signal.name}``", *(target_of(table, state, signal) for state in states)] for signal in signals]
    return rest.table(["", *(f"``{state.name}``" for state in states)], rows, "state-overview")


def target_of(table: AnyTable, state: enum.IntEnum, signal: enum.IntEnum) -> str:
    """Return where a cell leads to, as the overview shows it."""
    match table[state, signal]:
        case Forbidden():
            return rest.styled(NEVER, "forbidden")
        case Transition(target=target) if target is state:
            return rest.styled("stays", "stays")
        case Transition(target=target):
            return target.name


def cells_of(table: AnyTable, state: enum.IntEnum) -> list[str]:
    """Return every cell of one state, with its reason."""
    _, signals = sides(table)
    rows = [[f"``{signal.name}``", *leads_to(table[state, signal])] for signal in signals]
    return rest.table(["Signal", "Leads to", "Why"], rows, "state-cells")


def leads_to(cell: Transition[enum.IntEnum] | Forbidden) -> Sequence[str]:
    """Return the target and the reason of a cell."""
    match cell:
        case Forbidden(why=why):
            return rest.styled(NEVER, "forbidden"), why
        case Transition(target=target, why=why):
            return f"``{target.name}``", why


# ------------------------------------------------------------------------------------------------------------- checks


def check_order(checks: Sequence[Check] = CHECKS) -> list[str]:
    """Return the checks of an HTTP request in their order, and what a request is told that fails one."""
    rows = []
    for number, check in enumerate(checks, start=1):
        subject, _, demand = first_line(check).partition(": ")
        role = f":py:func:`~{check.__module__}.{check.__name__}`"
        rows.append([str(number), subject, demand, answer_of(check), role])
    return rest.table(["", "Looks at", "Demands", "Otherwise", "In the code"], rows)


def answer_of(check: Check) -> str:
    """Return the status and the words with which a check refuses a request, out of its source."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(check)))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "HTTPRefusal":
            status, why = (ast.literal_eval(argument) for argument in node.args[:2])
            return f"{status}, {why}"
    raise LookupError(f"{check.__name__} refuses nothing")


# ----------------------------------------------------------------------------------------------------------- refusals


def refusals() -> list[str]:
    """Return every reason for a refusal: how it looks on the wire, what it means, and what this client makes of it."""
    meaning = member_texts(Reason)
    rows = []
    for reason in Reason:
        detail = 1 if reason is Reason.EVENTS_GONE else None  # it says what is gone, and no other reason does
        code = refusal(1, reason, first_available=detail, lost=detail).code
        status = STATUS_OF_REASON.get(reason, 200)
        rows.append([f"``{reason.value}``", f"``{code}``", str(status), meaning[reason.name], VERDICTS[reason].value])
    return rest.table(["``data.reason``", "Code", "HTTP", "Meaning", "For this client"], rows)


def members(enumeration: type[enum.Enum]) -> list[str]:
    """Return the members of an enumeration and what they mean.

    Raises:
        LookupError: A member has no text under it.
    """
    meaning = member_texts(enumeration)
    if silent := [name for name, text in meaning.items() if not text]:
        raise LookupError(f"{enumeration.__name__} does not say what {', '.join(silent)} means")
    return rest.definitions(meaning.items())


# ---------------------------------------------------------------------------------------------------------- revisions


def revisions() -> list[str]:
    """Return what each revision of the protocol means: a row for each question."""
    meaning = texts(RevisionRules)
    rows = []
    for field in attrs.fields(RevisionRules):
        answers = [shown(getattr(REVISIONS[revision], field.name)) for revision in Revision]
        rows.append([f"``{field.name}``", meaning[field.name], *answers])
    return rest.table(["", "Question", *(revision.value for revision in Revision)], rows)


# ------------------------------------------------------------------------------------------------------------- limits


def limits(config: type[attrs.AttrsInstance]) -> list[str]:
    """Return every field of a configuration with its default and its meaning.

    Raises:
        KeyError: A field has no text under it.
    """
    meaning = texts(config)
    rows = []
    for field in attrs.fields(config):
        role = f":py:attr:`~{config.__module__}.{config.__qualname__}.{field.name}`"
        rows.append([role, default_of(field), meaning[field.name]])
    return rest.table(["Field", "Default", "Meaning"], rows)


def constants(package: str) -> list[str]:
    """Return every number that a package gives a public name in capitals, with its value and its meaning.

    Raises:
        LookupError: One has no text under it.
    """
    rows = []
    for constant in numbers_of(package):
        short = f"{constant.module.removeprefix(f'{package}.')}.{constant.name}"
        if not constant.text:
            raise LookupError(f"{short} does not say what it means")
        role = f":py:data:`{short} <{constant.module}.{constant.name}>`"
        rows.append([role, amount(constant.name, constant.value), constant.text])
    return rest.table(["Name", "Value", "Meaning"], rows)


def default_of(field: attrs.Attribute[object]) -> str:
    """Return a field's default, sizes in their usual units."""
    default = field.default
    if default is attrs.NOTHING:
        return "required"
    if callable(factory := getattr(default, "factory", None)):
        return shown(factory())
    return amount(field.name, default)


def amount(name: str, value: object) -> str:
    """Return a value, a size in its usual unit."""
    is_size = "bytes" in name.lower() or "size" in name.lower()
    if is_size and isinstance(value, int) and value and value % 1_024 == 0:
        return f"{value // 2**20} MiB" if value % 2**20 == 0 else f"{value // 2**10} KiB"
    return shown(value)


def shown(value: object) -> str:
    """Return a value as a page shows it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case enum.Enum():
            return str(value.value)
        case int() | float():
            return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
        case str():
            return f"``{value}``" if value else "empty"
        case frozenset() | dict() | tuple() if not value:
            return "empty"
        case frozenset():
            return ", ".join(f"``{item}``" for item in sorted(value))
        case _:
            return f"``{type(value).__name__}()``"
