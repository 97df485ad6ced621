"""A transcript as a script that somebody plays against the binding of a server: a driver, sockets, handlers.

A search needs worlds that can be copied, and a binding cannot. But a binding can be led along one way through a world,
and has to do there what the machine did: write the same messages on the same connections, start and stop the same
handlers. So a script is data, a list of cues, and whoever plays it owns the loop, with or without coroutines.

Servers choose names of their own for streams, tokens and questions. A script learns them from what it hears, and uses
them in what it tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, final

import attrs

from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.errors import LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.effects import AskAnswered, AskFailed, AskFailure, StartCall, StopCall
from mcpstreams_sansio.server.inputs import AskPeer, ReleaseStream, Respond, SendMessage
from mcpstreams_sansio.testing.actions import Kind, Peers, Transport
from mcpstreams_sansio.testing.conversation import ASK_CAPABILITY, called_number
from mcpstreams_sansio.testing.cues import (
    Answer,
    Ask,
    Begin,
    Close,
    Connect,
    Cue,
    Fail,
    Forsake,
    Hear,
    Pass,
    Release,
    Return,
    Send,
    Stop,
    Tell,
)
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.narration import described
from mcpstreams_sansio.testing.properties import Action, Violation
from mcpstreams_sansio.testing.state import Happening, State
from mcpstreams_sansio.testing.transcript import Transcript, take_again
from mcpstreams_sansio.testing.wires import End, Wire
from mcpstreams_sansio.testing.world import StreamsWorld
from mcpstreams_sansio.wire.handshake import INITIALIZED, ClientHello, client_capabilities, initialize_request
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONValue,
    Notification,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.revisions import NEWEST
from mcpstreams_sansio.wire.strict_json import decode_json, encode_json

_ONLY_IN_A_WORLD: Final = (
    *("crashes", "durable", "room", "stalls", "window"),  # the server would have to be another one
    *("client_crashes", "unasked_saves", "slow_saves"),  # whoever plays is one process
    *("slow_writes", "slow_stops"),  # nobody outside of the binding decides that
    *("polls", "copies", "intrusions"),  # they come from elsewhere, over no wire
)
_NAME: Final = re.compile(r"(?:stream|token|ask)-[0-9]{5}")
_HELLO: Final = "hello"
_PROPERTY: Final = "the server does as it is written"


@final
@attrs.frozen
class ScriptStep:
    """One action of the transcript, and what it means for whoever plays."""

    action: Action
    cues: tuple[Cue, ...]


@final
class Script:
    """One transcript, to be played once against one server.

    The server has to serve `tools/call` under `POLICIES` and be configured like `SERVER_CONFIG`, or it does other
    things than the machine in the transcript did, and does them at other times.

    Args:
        transcript: Of a `StreamsWorld` with one connection at a time that carries everything.

    Raises:
        LocalProtocolError: It does not happen as it is written, it breaks a property, or its world can do what nobody
            can do to a server from outside.
    """

    steps: tuple[ScriptStep, ...]
    """What to do and to expect, in order."""

    def __init__(self, transcript: Transcript) -> None:
        world = StreamsWorld.parse(transcript.setting)
        _check(world.state)
        self.steps = tuple(_steps(world, transcript))
        self._theirs: dict[str, str] = {}
        """What the server calls what has a name here."""

    def outgoing(self, cue: Tell) -> bytes:
        """Return the message that is to be sent, with the server's own names in it.

        Raises:
            LocalProtocolError: The server has not told one of these names yet: the script is not played in order.
        """
        return encode_json(self._translated(decode_json(cue.message)))

    def compare(self, cue: Hear, message: bytes) -> None:
        """Compare what the server sent with what the script says.

        Args:
            cue: What it says.
            message: The whole message, without the frame around it.

        Raises:
            Violation: It is another one, or no message.
        """
        if cue.message is None:
            return
        try:
            heard = decode_message(message)
        except RemoteProtocolError as error:
            raise Violation(_PROPERTY, f"{cue.connection} brings no message") from error
        place = self._difference(decode_json(cue.message), decode_json(message), "the message")
        if place is not None:
            expected, found = described(decode_message(cue.message)), described(heard)
            text = f"{cue.connection} brings {found} instead of {expected}: {place} is another one"
            raise Violation(_PROPERTY, text)

    def _translated(self, value: JSONValue) -> JSONValue:
        match value:
            case str():
                return self._name(value) if _NAME.fullmatch(value) else value
            case Mapping():
                return {key: self._translated(member) for key, member in value.items()}
            case Sequence():
                return [self._translated(item) for item in value]
            case _:
                return value

    def _name(self, name: str) -> str:
        if name not in self._theirs:
            raise LocalProtocolError("the server has not told yet what it calls what is told here")
        return self._theirs[name]

    def _difference(self, expected: JSONValue, found: JSONValue, place: str) -> str | None:
        """Return where two values differ, or None; a name that is heard for the first time is learnt."""
        match expected, found:
            case str(), str() if _NAME.fullmatch(expected):
                known = self._theirs.setdefault(expected, found)
                taken = [name for name, theirs in self._theirs.items() if theirs == found]
                return None if known == found and taken == [expected] else place
            case Mapping(), Mapping() if expected.keys() == found.keys():
                pairs = [(expected[key], found[key], f"{place}.{key}") for key in expected]
            case list(), list() if len(expected) == len(found):
                pairs = [(one, other, place) for one, other in zip(expected, found, strict=True)]
            case _:
                return None if expected == found and type(expected) is type(found) else place
        differences = (self._difference(*pair) for pair in pairs)
        return next((each for each in differences if each is not None), None)


def _check(state: State) -> None:
    if state.transport is not Transport.MULTIPLEXED:
        raise LocalProtocolError("a script has one connection at a time, and no exchanges")
    excess = [name for name in _ONLY_IN_A_WORLD if getattr(state.bounds, name)]
    if excess:
        raise LocalProtocolError(f"nobody can do this to a server from outside: {', '.join(excess)}")


# ---- what each step means


def _steps(world: StreamsWorld, transcript: Transcript) -> Iterator[ScriptStep]:
    for number, action in enumerate(transcript.path):
        before, time = dict(world.state.wires), world.state.now
        broken = take_again(world, transcript, number)
        if broken is not None:
            raise LocalProtocolError(f"step {number + 1} of the transcript breaks a property: {broken}")
        passed = [Pass(world.state.now - time)] if world.state.now > time else []
        cues = [*_of_action(action, world.state, before)]
        for _, happening in world.state.happened:
            cues += _of_happening(happening, world.state, before)
        yield ScriptStep(action, (*passed, *cues))


def _of_action(action: Action, state: State, before: Mapping[str, Wire]) -> list[Cue]:
    name = action.target or ""
    match action.kind:
        case Kind.CONNECT:
            connection = state.homes[action.target or FIRST].wire
            assert connection is not None, "the client has connected"
            return _handshake(connection, state.peers)
        case Kind.UP:
            message = before[name].up[0].message
            assert message is not None, "only an exchange can do without"
            return [Tell(name, message)] if before[name].server is End.OPEN else []
        case Kind.CUT | Kind.STRAGGLE:
            return [Forsake(name)]
        case Kind.NOTICE | Kind.FADE:
            return [Close(name)]
        case _:
            return []


def _handshake(name: str, peers: Peers) -> list[Cue]:
    capabilities = client_capabilities(
        {ASK_CAPABILITY: {}}, streams=peers is not Peers.STOCK, marker=peers is Peers.MARKER
    )
    hello = ClientHello(NEWEST.name, capabilities, {"name": "script", "version": "1"})
    return [
        Connect(name),
        Tell(name, encode_message(initialize_request(_HELLO, hello))),
        Hear(name, None),
        Tell(name, encode_message(Notification(INITIALIZED))),
    ]


def _of_happening(happening: Happening, state: State, before: Mapping[str, Wire]) -> list[Cue]:
    match happening:
        case Write(connection_id=connection_id, chunks=chunks):
            name = state.connection_called(connection_id)
            wire = before.get(name)
            heard = wire is not None and wire.client is End.OPEN
            return [Hear(name, data) for data in chunks] if heard else []
        case StartCall(request=request):
            return [Begin(called_number(request.params))]
        case StopCall(stream_id=stream_id):
            return [Stop(_number(state, stream_id))]
        case AskAnswered(stream_id=stream_id, answer=answer):
            return [Answer(_number(state, stream_id), answer.result if isinstance(answer, Response) else None)]
        case AskFailed(stream_id=stream_id, failure=failure):
            # A handler that is stopped learns nothing more.
            return [] if failure is AskFailure.STREAM_GONE else [Answer(_number(state, stream_id), None)]
        case _:
            return _of_order(happening, state)


def _of_order(happening: Happening, state: State) -> list[Cue]:
    match happening:
        case SendMessage(stream_id=stream_id, message=message):
            return [Send(_number(state, stream_id), message)]
        case AskPeer(stream_id=stream_id, method=method, params=params):
            return [Ask(_number(state, stream_id), method, params or {})]
        case ReleaseStream(stream_id=stream_id):
            return [Release(_number(state, stream_id))]
        case Respond(stream_id=stream_id, outcome=Response(result=result)):
            return [Return(_number(state, stream_id), result)]
        case Respond(stream_id=stream_id, outcome=ErrorResponse(code=code, message=message)):
            return [Fail(_number(state, stream_id), code, message)]
        case _:
            return []


def _number(state: State, stream_id: StreamId) -> int:
    return state.works[stream_id].number
