"""What the documentation takes from the code is all there, and what it shows can be run."""

from __future__ import annotations

import ast
import doctest
import enum
import importlib
import itertools
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

import mcpstreams_sansio
from docs._ext import pictures, rest, tables
from docs._ext.commands import commands
from docs._ext.drawings import drawn
from docs._ext.found import (
    AnyTable,
    Number,
    find,
    find_config,
    find_enumeration,
    find_table,
    member_texts,
    numbers_of,
    texts,
)
from docs._ext.planted import TITLES_BELOW, planted_faults
from docs._ext.rules import cases, named, rules, surroundings
from docs._ext.worlds import worlds
from mcpstreams_sansio import ClientEffect, ClientInput, ServerEffect, ServerInput, testing
from mcpstreams_sansio.http.checks import CHECKS
from mcpstreams_sansio.tables import Forbidden, Transition
from mcpstreams_sansio.wire import handshake, marker, methods
from mcpstreams_sansio.wire import streams as draft
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Notification,
    Request,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.meta import meta_of, parse_call_key, read_after, read_answer_token, read_attempt
from mcpstreams_sansio.wire.refusals import Reason, read_refusal
from mcpstreams_sansio.wire.revisions import REVISIONS, RevisionRules
from mcpstreams_sansio.wire.tags import read_tag
from tests.closed_unions import members
from tests.model.planted.faults import FAULTS
from tests.model.planted.on_the_wire import FAULTS as BELOW
from tests.sources import BINDINGS, CORE, ROOT, module_name, parse, python_files, shown
from tests.spec.case_ids import CASES
from tests.spec.rule_ids import RULES
from tests.spec.surrounding_ids import SURROUNDINGS
from trio_bindings.cli.command import command

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.rst") if not {"_build", "_ext", "generated"} & set(path.parts))
DIRECTIVE = re.compile(r"^\.\. ([a-z-]+):: *(.*)$", re.MULTILINE)


def arguments(directive: str) -> list[str]:
    """Return the arguments that a directive has on all pages."""
    found = (DIRECTIVE.findall(page.read_text("utf-8")) for page in PAGES)
    return [argument for page in found for name, argument in page if name == directive]


def blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield the caption and the text of every block of code in a language on a page."""
    pattern = rf"^\.\. code-block:: {language}\n((?:   :.*\n)*)\n((?:(?:   .*)?\n)+)"
    for options, text in re.findall(pattern, page.read_text("utf-8"), re.MULTILINE):
        caption = re.search(r":caption: (.*)", options)
        yield caption[1] if caption else "", "\n".join(line[3:] for line in text.split("\n"))


# ------------------------------------------------------------------------------------------------------- state tables


def tables_of_the_core() -> set[str]:
    """Return the full names of all state tables, out of the source."""
    return {
        f"{module_name(path)}.{name}"
        for path in python_files(CORE)
        for name in re.findall(r"^(\w+): Final\[Table\[", path.read_text("utf-8"), re.MULTILINE)
    }


STATE_TABLES = sorted(set(arguments("state-table")))


def test_every_state_table_is_shown() -> None:
    assert set(STATE_TABLES) == tables_of_the_core()
    assert STATE_TABLES, "there are state tables"


def test_every_state_table_has_a_picture() -> None:
    assert {*arguments("state-graph"), *arguments("state-ladder")} == tables_of_the_core()


def rows(lines: list[str]) -> list[list[str]]:
    """Return the cells of all tables in a text, row by row, the titles too; a cell's lines are joined."""
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(("   * -", "     -")):
            if line[3] == "*":
                found.append([])
            found[-1].append(line[7:].strip())
        elif line.startswith("       "):
            found[-1][-1] = f"{found[-1][-1]} {line.strip()}".strip()
    return found


@pytest.mark.parametrize("name", STATE_TABLES)
def test_a_state_table_shows_every_cell_with_its_reason(name: str) -> None:
    table = find_table(name)
    states, signals = tables.sides(table)
    for state in states:
        titles, *shown_rows = rows(tables.cells_of(table, state))
        assert titles == ["Signal", "Leads to", "Why"]
        assert [row[0] for row in shown_rows] == [f"``{signal.name}``" for signal in signals]
        for signal, (_, target, why) in zip(signals, shown_rows, strict=True):
            match table[state, signal]:
                case Transition() as cell:
                    assert (target, why) == (f"``{cell.target.name}``", cell.why)
                case Forbidden() as cell:
                    assert (target, why) == (".. rst-class:: forbidden never", cell.why)


@pytest.mark.parametrize("name", STATE_TABLES)
def test_a_state_table_shows_where_every_cell_leads_at_a_glance(name: str) -> None:
    table = find_table(name)
    states, signals = tables.sides(table)
    titles, *shown_rows = rows(tables.overview(table))
    assert titles == ["", *(f"``{state.name}``" for state in states)]
    for signal, row in zip(signals, shown_rows, strict=True):
        assert row == [f"``{signal.name}``", *(at_a_glance(table, state, signal) for state in states)]


def at_a_glance(table: AnyTable, state: enum.IntEnum, signal: enum.IntEnum) -> str:
    match table[state, signal]:
        case Forbidden():
            return ".. rst-class:: forbidden never"
        case Transition(target=target):
            return ".. rst-class:: stays stays" if target is state else target.name


@pytest.mark.parametrize("name", STATE_TABLES)
def test_a_state_table_says_what_its_states_and_signals_are(name: str) -> None:
    table = find_table(name)
    page = "\n".join(tables.state_table(table))
    for names in tables.sides(table):
        for member, meaning in member_texts(names).items():
            assert meaning, f"{member} has no text under it"
            assert f"``{member}``\n   {meaning}\n" in page


def signals_in(svg: str) -> list[str]:
    """Return the signals that a picture shows, and see that it is well-formed."""
    picture = ET.fromstring(svg)
    texts_in_it = picture.iter("{http://www.w3.org/2000/svg}text")
    return sorted(
        signal for text in texts_in_it if text.get("class") == "signal" for signal in (text.text or "").split(", ")
    )


def changes(table: AnyTable) -> list[str]:
    """Return the signals that change a state, as often as they do."""
    cells = table.items()
    return sorted(
        signal.name for (state, signal), cell in cells if isinstance(cell, Transition) and cell.target is not state
    )


@pytest.mark.parametrize("name", STATE_TABLES)
def test_a_ladder_shows_every_change_of_state(name: str) -> None:
    table = find_table(name)
    assert signals_in(pictures.ladder(table, "title")) == changes(table)


@pytest.mark.parametrize("name", arguments("state-graph"))
def test_a_graph_shows_every_change_of_state(name: str) -> None:
    table = find_table(name)
    states, _ = tables.sides(table)
    places = {state.name: (float(number % 2), float(number // 2)) for number, state in enumerate(states)}
    assert signals_in(pictures.graph(table, places, "title")) == changes(table)


def test_a_picture_is_told_to_those_who_do_not_see_it() -> None:
    svg = pictures.ladder(find_table(STATE_TABLES[0]), "a < b")
    assert '<svg class="states"' in svg
    assert 'role="img"' in svg
    assert "<title>a &lt; b</title>" in svg


# --------------------------------------------------------------------------------------------------- the other tables


def test_the_checks_are_shown_in_their_order() -> None:
    titles, *shown_rows = rows(tables.check_order())
    assert [row[0] for row in shown_rows] == [str(number) for number in range(1, len(CHECKS) + 1)]
    for check, row in zip(CHECKS, shown_rows, strict=True):
        assert row[-1] == f":py:func:`~{check.__module__}.{check.__name__}`"
        assert all(row), f"{check.__name__} says what it looks at and what it demands"
        assert re.fullmatch(r"4\d\d, .+", row[titles.index("Otherwise")])


def test_every_reason_is_shown_with_its_code() -> None:
    _, *shown_rows = rows(tables.refusals())
    assert [row[0] for row in shown_rows] == [f"``{reason.value}``" for reason in Reason]
    assert {row[1] for row in shown_rows} == {"``-32600``", "``-32602``", "``-32603``"}
    assert all(all(row) for row in shown_rows)


def test_every_question_to_every_revision_is_shown() -> None:
    titles, *shown_rows = rows(tables.revisions())
    assert titles[2:] == [revision.value for revision in REVISIONS]
    assert [row[0] for row in shown_rows] == [f"``{field.name}``" for field in attrs.fields(RevisionRules)]
    assert all(all(row[:1] + row[1:]) for row in shown_rows)


@pytest.mark.parametrize("name", arguments("limits"))
def test_every_limit_is_shown_with_its_default(name: str) -> None:
    config = find_config(name)
    _, *shown_rows = rows(tables.limits(config))
    assert [row[0] for row in shown_rows] == [f":py:attr:`~{name}.{field.name}`" for field in attrs.fields(config)]
    assert all(all(row) for row in shown_rows)


def test_every_configuration_is_shown() -> None:
    configs = {
        f"{module_name(path)}.{node}"
        for package in (CORE, BINDINGS)
        for path in python_files(package)
        for node in re.findall(r"^class (\w+(?:Config|Limits))\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert configs == set(arguments("limits"))


def test_every_number_with_a_public_name_is_shown_with_its_value_and_its_meaning() -> None:
    assert set(arguments("constants")) == {CORE.name, BINDINGS.name}
    shown_rows = [row for package in arguments("constants") for row in rows(tables.constants(package))[1:]]
    assert all(all(row) for row in shown_rows)
    shown_names = {role[role.index("<") + 1 : role.index(">")] for role, _, _ in shown_rows}
    assigned_names = {
        f"{module_name(path)}.{name}"
        for package in (CORE, BINDINGS)
        for path in python_files(package)
        if not {"testing", "cli"} & set(path.parts)
        for name in re.findall(r"^([A-Z][A-Z0-9_]+)(?:: Final)? = (?:\d|math\.)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert assigned_names == shown_names


def test_every_number_that_is_shown_has_a_place_in_the_reference() -> None:
    """A module that lists what is public has a description of nothing else."""
    numbers = [number for package in arguments("constants") for number in numbers_of(package)]
    public = {number.module: getattr(importlib.import_module(number.module), "__all__", None) for number in numbers}
    assert [each for each in numbers if each.name not in (public[each.module] or [each.name])] == []


def test_a_number_without_a_meaning_can_not_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "numbers_of", lambda _: iter([Number("a.b", "MAX", 1, "")]))
    with pytest.raises(LookupError, match="MAX"):
        tables.constants("a")


@attrs.frozen
class Example:
    size_of_it: int = 2 * 2**20
    """A size."""
    max_bytes: int = 3 * 2**10
    """Bytes
    of it."""
    count: int = 2_048
    """A number."""
    seconds: float = 0.25
    """A time."""
    maybe: str | None = None
    """Perhaps."""
    names: frozenset[str] = frozenset({"b", "a"})
    """Names."""
    table: dict[str, int] = attrs.field(factory=dict)
    """Empty."""
    sure: bool = True
    """A choice."""
    name: str = attrs.field(kw_only=True)
    """No default."""


def test_defaults_are_shown_as_people_read_them() -> None:
    defaults = [row[1] for row in rows(tables.limits(Example))[1:]]
    assert defaults == ["2 MiB", "3 KiB", "2,048", "0.25", "none", "``a``, ``b``", "empty", "yes", "required"]


def test_texts_are_those_that_stand_under_the_fields() -> None:
    assert texts(Example)["max_bytes"] == "Bytes of it."


def test_a_limit_without_a_text_is_no_limit_that_can_be_shown() -> None:
    @attrs.frozen
    class Bare:
        limit: int = 1

    with pytest.raises(KeyError):
        tables.limits(Bare)


@pytest.mark.parametrize("name", arguments("members"))
def test_every_member_of_an_enumeration_is_shown(name: str) -> None:
    listed = find_enumeration(name)
    page = "\n".join(tables.members(listed))
    assert [member for member in listed if f"``{member.name}``\n   " not in page] == []


def test_every_member_of_an_enumeration_that_is_exported_says_what_it_means() -> None:
    exported = [getattr(mcpstreams_sansio, name) for name in mcpstreams_sansio.__all__]
    lists = [each for each in exported if isinstance(each, type) and issubclass(each, enum.Enum)]
    assert lists
    assert [f"{each.__name__}.{name}" for each in lists for name, text in member_texts(each).items() if not text] == []


def test_a_member_without_a_meaning_can_not_be_shown() -> None:
    class Bare(enum.Enum):
        MEMBER = 1

    with pytest.raises(LookupError, match="MEMBER"):
        tables.members(Bare)


def test_every_rule_is_shown_once() -> None:
    shown_rules = [row[0] for letter in arguments("rules") for row in rows(rules(letter))[1:]]
    assert sorted(shown_rules) == sorted(RULES)


def test_everything_else_that_may_be_cited_is_shown_once() -> None:
    assert "cases" in {name for page in PAGES for name, _ in DIRECTIVE.findall(page.read_text("utf-8"))}
    shown_surroundings = [row for letter in arguments("surroundings") for row in rows(surroundings(letter))[1:]]
    assert sorted(row[0] for row in shown_surroundings) == sorted(SURROUNDINGS)
    shown_cases = [row for row in rows(cases()) if row[0] != "Case"]
    assert sorted(row[0] for row in shown_cases) == sorted(CASES)
    assert all(all(row) for row in [*shown_surroundings, *shown_cases])


def test_every_planted_fault_is_shown_with_how_it_is_found() -> None:
    assert "planted-faults" in {name for page in PAGES for name, _ in DIRECTIVE.findall(page.read_text("utf-8"))}
    shown = [row for row in rows(planted_faults()) if row[0] != "Fault"]
    shown_faults = [row for row in shown if len(row) > len(TITLES_BELOW)]
    shown_below = [row for row in shown if len(row) == len(TITLES_BELOW)]
    assert [row[1] for row in shown_below] == [fault.text for fault in BELOW]
    assert all(all(row) for row in shown_below)
    faults = [fault for group in FAULTS.values() for fault in group]
    assert [row[1] for row in shown_faults if row[0]] == [fault.text for fault in faults]
    assert [row[4].strip("`") for row in shown_faults] == [found.setting for fault in faults for found in fault.found]
    assert all(all(row[3:]) for row in shown_faults)


def test_the_tests_of_a_case_are_those_with_its_name() -> None:
    tests_of = {row[0]: row[2] for row in rows(cases())}
    assert "``cases/test_g_reconnects.py``" in tests_of["G6"]
    assert "test_delivery_rules.py" not in tests_of["R1"]


def test_whatever_a_test_is_named_after_can_be_looked_up() -> None:
    assert sorted(named().keys() - CASES.keys() - SURROUNDINGS.keys()) == []


def test_a_package_that_is_none_is_refused() -> None:
    with pytest.raises(LookupError, match="no_such_package"):
        tables.constants("no_such_package")


@pytest.mark.parametrize("name", ["nothing", "no.such.module", "mcpstreams_sansio.errors.NOTHING"])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(LookupError, match=re.escape(name)):
        find(name)


@pytest.mark.parametrize("search", [find_table, find_enumeration, find_config])
def test_a_name_that_means_something_else_is_refused(search: object) -> None:
    assert callable(search)
    with pytest.raises(LookupError, match="PARSE_ERROR"):
        search("mcpstreams_sansio.errors.PARSE_ERROR")


def test_a_table_is_written_with_all_lines_of_its_cells() -> None:
    lines = rest.table(["a", "b"], [["1", "two\n\nlines"], ["", "4"]])
    assert rows(lines) == [["a", "b"], ["1", "two lines"], ["", "4"]]
    assert "   *" not in rest.definitions([("name", "meaning")])


# ----------------------------------------------------------------------------------------------------- the API pages


def test_every_public_module_is_in_the_reference() -> None:
    """Pages are made from the packages downwards, for every module that Python itself would find there."""
    api = (DOCS / "reference" / "api.rst").read_text("utf-8")
    template = (DOCS / "_templates" / "module.rst").read_text("utf-8")
    assert ":recursive:" in api
    assert ":recursive:" in template
    for package in (CORE, BINDINGS):
        assert f"   {package.name}\n" in api
        for path in python_files(package):
            folders = itertools.takewhile(lambda folder: folder != ROOT, path.parents)
            assert [shown(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []
            assert not module_name(path).rpartition(".")[2].startswith("_"), "a private module has no page"


def test_every_public_module_says_what_it_holds() -> None:
    modules = [path for package in (CORE, BINDINGS) for path in python_files(package)]
    silent = [shown(path) for path in modules if not isinstance(documented(path), str)]
    assert silent == []


def documented(path: Path) -> str | None:
    body = parse(path).body
    first = getattr(getattr(body[0], "value", None), "value", None) if body else None
    return first if isinstance(first, str) and first.strip() else None


# -------------------------------------------------------------------------------------------------- what pages show


def test_python_on_a_page_is_a_session_or_a_file_that_is_run_here() -> None:
    captions = [caption for page in PAGES for caption, _ in blocks(page, "python")]
    assert [caption for caption in captions if not caption.endswith(".py")] == []


@pytest.mark.parametrize("union", [ServerInput, ServerEffect, ClientInput, ClientEffect])
def test_the_duties_of_a_driver_name_all_that_a_machine_is_told_or_wants(union: object) -> None:
    named = set(re.findall(r"`(\w+)`", (DOCS / "howto" / "write-a-binding.rst").read_text("utf-8")))
    assert {member.__name__ for member in members(union)} - named == set()


INDEXES = [page for page in PAGES if page.name == "index.rst"]


@pytest.mark.parametrize("index", INDEXES, ids=shown)
def test_an_index_says_in_words_what_is_there(index: Path) -> None:
    """A toctree alone shows nothing where the source is read."""
    text = index.read_text("utf-8")
    (listed,) = re.findall(r"^\.\. toctree::\n(?:   :.*\n)*\n((?:   .+\n)+)", text, re.MULTILINE)
    there = {page for page in PAGES if page.parent == index.parent and page != index}
    there |= {page for page in INDEXES if page.parent.parent == index.parent}
    names = {page.relative_to(index.parent).with_suffix("").as_posix() for page in there}
    assert set(listed.split()) == names
    assert set(re.findall(r":doc:`([\w/-]+)`", text)) == names


def test_the_readme_leads_to_what_is_there() -> None:
    targets = re.findall(r"<([\w./-]+)>`__", (ROOT / "README.rst").read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / target).is_file()] == []


SERVERS = [
    *((caption, text) for page in PAGES for caption, text in blocks(page, "python")),
    *((shown(path), path.read_text("utf-8")) for path in sorted((DOCS / "examples").glob("*.py"))),
]


@pytest.mark.parametrize(("name", "text"), SERVERS, ids=[name for name, _ in SERVERS])
def test_a_server_that_serves_tools_declares_them(name: str, text: str) -> None:
    serves_tools = "tools/call" in text and re.search(r"serve_(tcp|http|stream)|\bServer\(", text)
    assert not serves_tools or '{"tools": {}}' in text


def test_an_example_with_types_satisfies_the_strictest_checks() -> None:
    pytest.importorskip("mypy", reason="mypy is there for those who work on the project")
    example = DOCS / "examples" / "typed_handler.py"
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(example)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert (done.stdout, done.returncode) == ("", 0)


SESSIONS = [page for page in PAGES if ">>> " in page.read_text("utf-8")]


@pytest.mark.parametrize("page", SESSIONS, ids=shown)
def test_sessions_on_a_page_are_as_shown(page: Path) -> None:
    failed, _ = doctest.testfile(str(page), module_relative=False, encoding="utf-8", optionflags=doctest.ELLIPSIS)
    assert failed == 0


def run(path: Path) -> str:
    """Run a file as a person would, and return what it prints."""
    command = [sys.executable, "-W", "error", str(path)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("example", sorted((DOCS / "examples").glob("*.py")), ids=shown)
def test_an_example_runs_and_prints_what_its_page_shows(example: Path) -> None:
    output = example.with_suffix(".txt")
    assert run(example) == (output.read_text("utf-8") if output.is_file() else "")
    included = set(arguments("literalinclude"))
    assert {f"../examples/{path.name}" for path in (example, output) if path.is_file()} <= included


FILES = [(page, caption, text) for page in PAGES for caption, text in blocks(page, "python")]


@pytest.mark.parametrize(
    ("page", "caption", "text"), FILES, ids=[f"{shown(page)}:{caption}" for page, caption, _ in FILES]
)
def test_a_file_on_a_page_prints_what_is_shown_after_it(page: Path, caption: str, text: str, tmp_path: Path) -> None:
    (tmp_path / caption).write_text(text, "utf-8")
    (output,) = [shown_text for name, shown_text in blocks(page, "text") if name == f"what {caption} prints"]
    assert run(tmp_path / caption).strip() == output.strip()


JSON = [text for page in PAGES for _, text in blocks(page, "json")]

READERS: dict[str, Callable[[JSONObject | None], object]] = {
    handshake.INITIALIZE: handshake.read_client_hello,
    methods.TOOLS_CALL: parse_call_key,
    methods.CANCELLED: parse_call_key,
    draft.STREAM_CREATE: draft.read_create,
    draft.STREAM_END: draft.read_end,
    draft.STREAM_POLL: draft.read_ref,
    draft.STREAM_RESUME: draft.read_ref,
    marker.MARKER_ACK: marker.read_ack_notification,
    marker.MARKER_CANCEL: draft.read_ref,
    "notifications/progress": meta_of,
}
"""How the params of a page's messages are read."""

RESULTS: dict[str, Callable[[JSONObject], object]] = {
    "capabilities": lambda result: handshake.read_server_hello(result).marker,
    "status": draft.read_poll_result,
    "action": read_answer_token,
}
"""The same for results, by a member that they have."""


@pytest.mark.parametrize("text", JSON, ids=[str(number) for number in range(len(JSON))])
def test_a_message_on_a_page_is_one_that_this_package_reads(text: str) -> None:
    message = decode_message(text.encode())
    assert json.loads(encode_message(message)) == json.loads(text)
    match message:
        case Request(method=method, params=params) | Notification(method=method, params=params):
            assert READERS[method](params)
            assert (read_after(params) is None) or (read_attempt(params) is not None)
        case Response(result=result):
            readers = [reader for member, reader in RESULTS.items() if member in result]
            assert not result or read_tag(message) is not None or readers
            assert all(reader(result) is not None for reader in readers)
        case ErrorResponse():
            refused = read_refusal(message)
            assert refused is not None
            assert refused.first_available is not None


def test_every_full_name_on_a_page_means_something() -> None:
    named = {
        name for page in PAGES for name in re.findall(r":py:\w+:`~?((?:mcps|trio_)[\w.]+)`", page.read_text("utf-8"))
    }
    assert named
    assert [name for name in sorted(named) if not means_something(name)] == []


def means_something(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = (
                {field.name for field in attrs.fields(value)} if isinstance(value, type) and attrs.has(value) else ()
            )
            if part in fields:
                return True
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


# ----------------------------------------------------------------------------------------- the command, and its worlds


def test_every_command_is_shown_with_all_that_it_can_be_told() -> None:
    text = "\n".join(commands())
    for name, each in command.commands.items():
        assert f"   $ mcpstreams {name} [OPTIONS]" in text
        for option in each.params:
            assert all(opt in text for opt in option.opts if opt.startswith("-"))


@pytest.mark.parametrize("name", arguments("drawing"))
def test_a_picture_on_a_page_is_of_a_transcript_that_is_kept(name: str) -> None:
    title, svg = drawn(name)
    assert title
    assert ET.fromstring(svg).get("role") == "img"


def test_a_picture_of_no_transcript_is_refused() -> None:
    with pytest.raises(LookupError, match="no transcript is called nothing"):
        drawn("nothing")


def test_every_world_is_shown_with_what_has_to_be_met() -> None:
    lines = worlds()
    for each in (*testing.USUAL, *testing.DEEP):
        assert f"   * - ``{each.name}``" in lines
        assert f"     - ``{each.setting}``" in lines
    assert {f"* ``{each}``" for each in testing.HAPPENINGS} < set(lines)


# --------------------------------------------------------------------------------------------------- the model check


def promises() -> set[str]:
    """Return what the worlds of streams check, by the names that a violation has."""
    calls = (
        node
        for path in Path(testing.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Violation"
    )
    return {str(call.args[0].value) for call in calls if isinstance(call.args[0], ast.Constant)}


def test_everything_that_must_hold_is_explained() -> None:
    page = (ROOT / "docs/explanation/model-check.rst").read_text("utf-8")
    assert len(promises()) > 25
    assert {promise for promise in promises() if promise not in page} == set()
