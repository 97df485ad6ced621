"""What is on the wire is exactly what a type declares, or it is refused by its path and without its value."""

from __future__ import annotations

import json
import traceback
import types
from typing import Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.wire import handshake, marker, refusals, streams
from mcpstreams_sansio.wire.converter import (
    MAX_REPORTED_FAULTS,
    WIRE_NAME,
    Position,
    Seconds,
    structure,
    unstructure,
)
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue
from tests.sansio.wire.json_values import OBJECTS, VALUES


@attrs.frozen
class Leg:
    """One member of an array."""

    how_long: Seconds
    extra: JSONObject = attrs.field(factory=dict)


@attrs.frozen
class Trip:
    """A type with one field of every kind."""

    text: str | None = None
    flag: bool | None = None
    integer: int | None = None
    number: float | None = None
    position: Position | None = None
    seconds: Seconds | None = None
    stream_id: StreamId | None = None
    resume_token: Secret | None = None
    request_id: RequestId | None = None
    kind: Literal["single", "return"] | None = None
    first_leg: Leg | None = None
    legs: tuple[Leg, ...] | None = None
    meta: JSONObject | None = None
    odd: str | None = attrs.field(default=None, metadata={WIRE_NAME: "vendor/odd"})
    extra: JSONObject = attrs.field(factory=dict)


@attrs.frozen
class Picky:
    """A type with a rule of its own, whose complaint repeats the value."""

    word: str = attrs.field()
    extra: JSONObject = attrs.field(factory=dict)

    @word.validator
    def _check(self, _: object, value: str) -> None:
        raise ValueError(f"I do not like {value}")


def complaint(value: JSONValue, what: str = "params") -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        structure(Trip, value, what)
    assert caught.value.error_code == INVALID_PARAMS
    return str(caught.value)


COMPLETE: JSONObject = {
    "text": "",
    "flag": False,
    "integer": -1,
    "number": -2.5,
    "position": 0,
    "seconds": 0.25,
    "streamId": "s",
    "resumeToken": "t",
    "requestId": 7,
    "kind": "return",
    "firstLeg": {"howLong": 1, "stops": None},
    "legs": [{"howLong": 2.5}],
    "_meta": {"a": None},
    "vendor/odd": "o",
    "unknown": [None],
    "extra": {"peer": "calls a member so"},
}


def test_an_object_becomes_a_value_and_the_same_object_again() -> None:
    trip = structure(Trip, COMPLETE, "params")
    assert trip == Trip(
        text="",
        flag=False,
        integer=-1,
        number=-2.5,
        position=0,
        seconds=0.25,
        stream_id=StreamId("s"),
        resume_token=Secret("t"),
        request_id=7,
        kind="return",
        first_leg=Leg(1, {"stops": None}),
        legs=(Leg(2.5),),
        meta={"a": None},
        odd="o",
        extra={"unknown": [None], "extra": {"peer": "calls a member so"}},
    )
    assert unstructure(trip) == COMPLETE


def test_no_time_at_all_is_a_duration() -> None:
    assert structure(Leg, {"howLong": 0}, "params") == Leg(0)


def test_none_is_left_out() -> None:
    assert unstructure(Trip()) == {}
    assert structure(Trip, {}, "params") == Trip()


@pytest.mark.rule("W5")
def test_a_whole_number_of_seconds_stays_whole() -> None:
    leg = structure(Leg, {"howLong": 5}, "params")
    assert json.dumps(unstructure(leg)) == '{"howLong": 5}'


@given(unknown=OBJECTS)
def test_what_the_type_does_not_know_is_kept(unknown: JSONObject) -> None:
    members = {"howLong": 1, **{name: member for name, member in unknown.items() if name != "howLong"}}
    assert unstructure(structure(Leg, members, "params")) == members


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("text", None, "not a string"),
        ("text", 1, "not a string"),
        ("flag", None, "not a boolean"),
        ("flag", 1, "not a boolean"),
        ("flag", "false", "not a boolean"),
        ("integer", True, "not an integer"),
        ("integer", 1.0, "not an integer"),
        ("integer", "7", "not an integer"),
        ("number", True, "not a finite number"),
        ("number", "7", "not a finite number"),
        ("number", float("nan"), "not a finite number"),
        ("number", float("inf"), "not a finite number"),
        ("number", 10**400, "not a finite number"),
        ("number", -(10**400), "not a finite number"),
        ("seconds", 10**400, "not a finite number"),
        ("position", -1, "negative"),
        ("position", 1.5, "not an integer"),
        ("position", False, "not an integer"),
        ("seconds", -0.5, "negative"),
        ("seconds", -1, "negative"),
        ("seconds", float("-inf"), "not a finite number"),
        ("seconds", False, "not a finite number"),
        ("streamId", "", "not a non-empty string"),
        ("streamId", 5, "not a non-empty string"),
        ("resumeToken", "", "not a non-empty string"),
        ("resumeToken", ["t"], "not a non-empty string"),
        ("requestId", True, "neither a string nor an integer"),
        ("requestId", 1.0, "neither a string nor an integer"),
        ("requestId", None, "neither a string nor an integer"),
        ("requestId", {}, "neither a string nor an integer"),
        ("kind", "double", "not one of single, return"),
        ("kind", ["single"], "not one of single, return"),
        ("firstLeg", None, "not an object"),
        ("firstLeg", [], "not an object"),
        ("legs", {}, "not an array"),
        ("legs", "ab", "not an array"),
        ("_meta", [], "not an object"),
        ("_meta", None, "not an object"),
        ("vendor/odd", 1, "not a string"),
    ],
)
def test_nothing_is_taken_for_what_it_is_not(name: str, value: JSONValue, fault: str) -> None:
    assert complaint({name: value}) == f"params.{name}: {fault}"


@pytest.mark.parametrize("value", [[], "x", 5, True])
def test_only_an_object_is_an_object(value: JSONValue) -> None:
    assert complaint(value, "result") == "result: not an object"


def test_nothing_at_all_is_missing() -> None:
    assert complaint(None) == "params: missing"


def test_every_fault_is_named_by_its_path() -> None:
    assert complaint({"firstLeg": {"howLong": -1}, "legs": [{}, 5, {"howLong": "1"}], "text": 5}).split("; ") == [
        "params.text: not a string",
        "params.firstLeg.howLong: negative",
        "params.legs[0].howLong: missing",
        "params.legs[1]: not an object",
        "params.legs[2].howLong: not a finite number",
    ]


def test_of_many_faults_a_few_are_named_and_the_rest_is_counted() -> None:
    faults = complaint({"legs": [{}] * (MAX_REPORTED_FAULTS + 3)}).split("; ")
    assert len(faults) == MAX_REPORTED_FAULTS + 1
    assert faults[-1] == "and 3 more"
    assert len(complaint({"legs": [{}] * MAX_REPORTED_FAULTS}).split("; ")) == MAX_REPORTED_FAULTS


def test_what_a_type_says_by_itself_is_not_repeated() -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams: not acceptable\Z") as caught:
        structure(Picky, {"word": "hush"}, "params")
    assert str(caught.value) == "params: not acceptable"


@pytest.mark.rule("W2", "P38")
@given(name=st.sampled_from(sorted(COMPLETE)), value=VALUES)
def test_no_error_holds_a_value(name: str, value: JSONValue) -> None:
    secret = "hush-hush-hush"
    members = {**COMPLETE, "resumeToken": secret, "text": [secret], name: [secret, value]}
    with pytest.raises(RemoteProtocolError) as caught:
        structure(Trip, members, "params")
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    assert secret not in "".join(traceback.format_exception(error))


@given(members=st.dictionaries(st.sampled_from(sorted(COMPLETE)), VALUES))
def test_a_peer_can_cause_no_other_error(members: JSONObject) -> None:
    try:
        trip = structure(Trip, members, "params")
    except RemoteProtocolError:
        return
    assert unstructure(trip) == members


@pytest.mark.rule("Q11b", "P38")
@pytest.mark.parametrize("module", [handshake, marker, refusals, streams], ids=lambda module: module.__name__)
def test_what_a_type_does_not_know_is_in_no_text_and_no_hash(module: types.ModuleType) -> None:
    open_ended = {
        f"{cls.__name__}.{field.name}": field
        for cls in vars(module).values()
        if isinstance(cls, type) and attrs.has(cls) and cls.__module__ == module.__name__
        for field in attrs.fields(cls)
        if field.name in {"meta", "extra"} and not cls.__name__.startswith("_")
    }
    assert open_ended
    assert [name for name, field in open_ended.items() if field.hash is not False] == []
    assert [name for name, field in open_ended.items() if field.repr is not False] == []


def test_extra_cannot_stand_in_for_a_field() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aextra of Trip holds a field that the type has by itself\Z"):
        unstructure(Trip(extra={"streamId": "s"}))
