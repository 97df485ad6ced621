"""One table says what each revision means; it is total, and cannot be changed."""

from __future__ import annotations

import re

import attrs
import pytest

from mcpstreams_sansio.wire.revisions import (
    NEWEST,
    REVISIONS,
    AfterLoss,
    Revision,
    RevisionRules,
    find_revision,
    negotiate,
)
from tests.sources import CORE, python_files


@pytest.mark.rule("D4", "D5")
def test_every_revision_that_is_served_has_its_row() -> None:
    assert REVISIONS.keys() == set(Revision)
    assert [revision.value for revision in sorted(Revision)] == ["2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.mark.rule("D5")
@pytest.mark.parametrize("column", [field.name for field in attrs.fields(RevisionRules)])
def test_every_column_is_obeyed_somewhere(column: str) -> None:
    sources = (path.read_text("utf-8") for path in python_files(CORE) if path.name != "revisions.py")
    assert any(re.search(rf"\.{column}\b", source) for source in sources)


@pytest.mark.rule("D5")
def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match=r"\A'mappingproxy' object does not support item assignment\Z"):
        REVISIONS[Revision.R2025_03_26] = REVISIONS[NEWEST]  # type: ignore[index]  # that is what must fail
    with pytest.raises(attrs.exceptions.FrozenInstanceError, match=r"\Acan't set attribute\Z"):
        REVISIONS[NEWEST].primes = False  # type: ignore[misc]  # that is what must fail


@pytest.mark.rule("D4")
@pytest.mark.parametrize("requested", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_revision_that_is_served_is_what_a_client_gets(requested: str) -> None:
    assert negotiate(requested) == requested
    assert find_revision(requested) is negotiate(requested)


@pytest.mark.rule("D4")
@pytest.mark.parametrize("requested", ["", "2024-11-05", "2025-11-25 ", "2099-01-01", "latest"])
def test_for_any_other_revision_a_client_gets_the_newest(requested: str) -> None:
    assert find_revision(requested) is None
    assert negotiate(requested) is NEWEST is Revision.R2025_11_25


@pytest.mark.rule("H19", "D5")
@pytest.mark.parametrize("revision", Revision)
def test_only_clients_that_know_empty_events_are_primed(revision: Revision) -> None:
    assert REVISIONS[revision].primes is (revision >= Revision.R2025_11_25)


@pytest.mark.rule("H12", "D5")
@pytest.mark.parametrize("revision", Revision)
def test_a_lost_exchange_cancels_nothing_and_a_lost_shared_connection_what_nobody_could_receive(
    revision: Revision,
) -> None:
    assert REVISIONS[revision].after_loss_on_http is AfterLoss.RUN_ON
    assert REVISIONS[revision].after_loss_on_shared is AfterLoss.CANCEL


@pytest.mark.rule("H5", "H4")
def test_headers_are_spelled_as_the_revision_spells_them() -> None:
    spelling = {revision.value: (rules.session_header, rules.version_header) for revision, rules in REVISIONS.items()}
    assert spelling == {
        "2025-03-26": ("Mcp-Session-Id", None),
        "2025-06-18": ("Mcp-Session-Id", "MCP-Protocol-Version"),
        "2025-11-25": ("MCP-Session-Id", "MCP-Protocol-Version"),
    }
