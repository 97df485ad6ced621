"""One table says what each revision means; it is total, and cannot be changed."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.wire.revisions import NEWEST, REVISIONS, AfterLoss, Revision, find_revision, negotiate


@pytest.mark.rule("D4", "D5")
def test_every_revision_that_is_served_has_its_row() -> None:
    assert REVISIONS.keys() == set(Revision)
    assert [revision.value for revision in sorted(Revision)] == ["2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.mark.rule("D5")
def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        REVISIONS[Revision.R2025_03_26] = REVISIONS[NEWEST]  # type: ignore[index]  # that is what must fail
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
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


@pytest.mark.rule("D5")
def test_servers_may_ask_in_every_revision_with_a_handshake() -> None:
    assert all(rules.server_requests for rules in REVISIONS.values())


@pytest.mark.rule("D5")
def test_refusing_batches_deviates_from_one_revision_only() -> None:
    assert [revision for revision, rules in REVISIONS.items() if rules.defines_batches] == [Revision.R2025_03_26]


@pytest.mark.rule("H5", "H4")
def test_headers_are_spelled_as_the_revision_spells_them() -> None:
    spelling = {revision.value: (rules.session_header, rules.version_header) for revision, rules in REVISIONS.items()}
    assert spelling == {
        "2025-03-26": ("Mcp-Session-Id", None),
        "2025-06-18": ("Mcp-Session-Id", "MCP-Protocol-Version"),
        "2025-11-25": ("MCP-Session-Id", "MCP-Protocol-Version"),
    }


@pytest.mark.rule("R4")
def test_the_handshake_revisions_name_the_stream_of_a_message_as_the_draft_does() -> None:
    assert {rules.stream_id_key for rules in REVISIONS.values()} == {"streamId"}
