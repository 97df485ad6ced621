"""A world of streams as somebody watches it: where its lifelines are, what each wire does, which row comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import attrs

from mcpstreams_sansio.ids import CallId, ConnectionId, StreamId
from mcpstreams_sansio.testing.conversation import call_name
from mcpstreams_sansio.testing.drawing.captions import down_caption
from mcpstreams_sansio.testing.drawing.diagram import Arrow, Blank, Mark, Note, Step, Tone, Tube
from mcpstreams_sansio.testing.drawing.trace import Trace
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.state import Happening, State
from mcpstreams_sansio.testing.strangers import VISIT
from mcpstreams_sansio.testing.wires import Close, Down, End, Post, Wire

CLIENT: Final = "client"
SERVER: Final = "server"
DISK: Final = "disk"
STRANGER: Final = "somebody else"
NOBODY: Final = "nobody"
"""An end of an arrow that is not there: a machine that is broken may do anything."""


@final
@attrs.define
class Stage:
    """What was drawn so far, and what the next row needs to know."""

    state: State
    """Of the world that is watched."""
    machine: str = CLIENT
    """Whose happening is shown."""
    steps: list[Step] = attrs.field(factory=list)
    _marks: list[Mark] = attrs.field(factory=list)
    _first: int = 0
    """The row with which the present step begins."""
    _traces: dict[str, Trace] = attrs.field(factory=dict)
    _before: Mapping[str, Wire] = attrs.field(factory=dict)
    _changed: dict[str, int] = attrs.field(factory=dict)
    """Where the present step has changed what somebody knows of a wire."""

    # ---- lifelines

    @property
    def clients(self) -> tuple[str, ...]:
        """The machines of the clients, the first one last."""
        names = [chr(ord(FIRST) + number) for number in range(self.state.bounds.rivals, -1, -1)]
        return tuple(self.client_named(name) for name in names)

    @property
    def left(self) -> tuple[str, ...]:
        """The lifelines at the side of the clients: each one's callers, then its machine."""
        names = [chr(ord(FIRST) + number) for number in range(self.state.bounds.rivals, -1, -1)]
        calls = range(self.state.bounds.calls, 0, -1)
        return tuple(
            name
            for home in names
            for name in (*(self._caller(number, home) for number in calls), self.client_named(home))
        )

    def client_named(self, home: str) -> str:
        """Return the machine of a client."""
        return CLIENT if home == FIRST else f"{CLIENT} {home}"

    def _caller(self, number: int, home: str) -> str:
        return self._numbered("caller", number) if home == FIRST else f"caller {call_name(number)}{home}"

    @property
    def right(self) -> tuple[str, ...]:
        """The lifelines at the server's side."""
        bounds = self.state.bounds
        stranger = [STRANGER] if bounds.polls or bounds.intrusions else []
        works = [self._numbered("work", number) for number in range(1, bounds.calls + 1)]
        return (*stranger, SERVER, *works, *([DISK] if bounds.durable else []))

    def _numbered(self, what: str, number: int) -> str:
        return what if self.state.bounds.calls == 1 else f"{what} {call_name(number)}"

    def caller(self, call_id: CallId) -> str:
        """Return who makes a call."""
        caller = self.state.callers.get(call_id)
        return NOBODY if caller is None else self._caller(caller.number, caller.home)

    def client_of(self, name: str) -> str:
        """Return the client at the end of a wire."""
        wire = self.state.wires.get(name) or self._before.get(name)
        return CLIENT if wire is None else self.client_named(wire.home)

    def client_for(self, happening: Happening) -> str:
        """Return the client to which something happens, as far as it says so."""
        caller = self.state.callers.get(getattr(happening, "call_id", None) or CallId(0))
        if caller is not None:
            return self.client_named(caller.home)
        connection_id = getattr(happening, "connection_id", None)
        return CLIENT if connection_id is None else self.client_of(self.state.connection_called(connection_id))

    def work(self, stream_id: StreamId) -> str:
        """Return who works on the call of a stream."""
        work = self.state.works.get(stream_id)
        return NOBODY if work is None else self._numbered("work", work.number)

    def wire(self, connection_id: ConnectionId) -> str:
        """Return what carries a connection: a wire, or somebody from elsewhere."""
        name = self.state.connection_called(connection_id)
        return STRANGER if name == VISIT else name

    # ---- one step

    def begin(self) -> None:
        """An action comes next."""
        self._before = dict(self.state.wires)
        self._first += len(self._marks)
        self._marks = []
        self._changed = {}

    def before(self, name: str) -> Wire:
        """Return a wire as it was before the action."""
        return self._before[name]

    def opening(self, name: str) -> Post:
        """Return what an exchange was begun with."""
        wire = self._before.get(name)
        if wire is None:
            return Post(None)
        return wire.up[0] if wire.opening is None else wire.opening

    @property
    def row(self) -> int:
        """The number of the next row."""
        return self._first + len(self._marks)

    @property
    def _last_row(self) -> int:
        """The row that was filled last, if it belongs to the present step."""
        return max(self._first, self.row - 1)

    def show(self, mark: Mark) -> None:
        """Fill the next row. An arrow that would begin or end nowhere becomes a note."""
        if isinstance(mark, Arrow) and not {mark.source, mark.target} <= self._known:
            at = mark.source if mark.source in self._known else mark.target
            mark = Note(at, mark.text, mark.tone)
        self._marks.append(mark)

    @property
    def _known(self) -> set[str]:
        return {*self.left, *self.right, *self._traces}

    def note(self, at: str, text: str) -> None:
        """Say something about a lifeline."""
        self.show(Note(at, text))

    def open(self, name: str) -> None:
        """A wire appears with the next row, unless it is there."""
        self._traces.setdefault(name, Trace(name, self.row))

    def send(self, name: str, up: bool, text: str) -> None:
        """A side puts something on a wire."""
        if name in self._traces:
            self._traces[name].send(up, self.row)
        self.show(Arrow(self.client_of(name), name, text) if up else Arrow(SERVER, name, text))

    def arrive(self, name: str, up: bool, text: str, tone: Tone = Tone.PLAIN) -> None:
        """The oldest thing on a wire arrives."""
        self._traces[name].arrive(up, self.row)
        self._changed[name] = self.row
        self.show(Arrow(name, SERVER if up else self.client_of(name), text, tone))

    def lose(self, name: str, learner: str, text: str) -> None:
        """A side learns that a wire is lost."""
        self.break_off(name)
        self.show(Arrow(name, learner, text, Tone.BAD))

    def crash(self) -> None:
        """The server's process ends, and with it its end of every wire."""
        for name, wire in self._before.items():
            if wire.server is End.OPEN:
                self.break_off(name)
        for trace in self._traces.values():
            for stream_id in tuple(trace.streams):
                trace.detach(stream_id, self.row)
        self.show(Note(SERVER, "the process ends, another one begins", Tone.BAD))

    def crash_client(self) -> None:
        """The process of the first client ends, and with it its end of every wire."""
        for name, wire in self._before.items():
            if wire.client is End.OPEN and wire.home == FIRST:
                self.break_off(name)
        self.show(Note(CLIENT, "the process ends, another one begins", Tone.BAD))

    def break_off(self, name: str) -> None:
        """With the next row, a wire is lost for a side."""
        if name in self._traces:
            self._traces[name].breaks.append(self.row)
        self._changed[name] = self.row

    def change(self, name: str) -> None:
        """With the next row, a side is done with a wire."""
        self._changed[name] = self.row

    def attach(self, stream_id: StreamId, name: str) -> None:
        """The server delivers a stream on this wire, and on no other one, from the last row on."""
        for trace in self._traces.values():
            trace.detach(stream_id, self._last_row)
        if name in self._traces:
            self._traces[name].attach(stream_id, self._last_row)

    def detach(self, stream_id: StreamId) -> None:
        """The server delivers a stream nowhere; what it says next may be its last word."""
        for trace in self._traces.values():
            trace.detach(stream_id, self.row)

    def end(self, action: str) -> None:
        """The action is done, and all that it led to was shown."""
        for name, wire in self.state.wires.items():
            for item in self._traces.setdefault(name, Trace(name, self._first)).unseen(wire):
                self._send_unseen(name, wire, item)
        if not self._marks:
            self.show(Blank())
        for name, trace in self._traces.items():
            if trace.end is None:
                trace.follow(self.state.wires.get(name), self._changed.get(name, self._first), self.row - 1)
        self.steps.append(Step(action, tuple(self._marks)))

    def _send_unseen(self, name: str, wire: Wire, item: Down) -> None:
        """Something was written by no machine: an answer of the front, or the end that the network makes."""
        if isinstance(item, Close) and wire.server is End.GONE:
            self._traces[name].send(False, self._last_row)
        else:
            self.send(name, False, down_caption(item))

    def tubes(self) -> tuple[Tube, ...]:
        """Return every wire as it lived."""
        last = max(0, self.row - 1)
        return tuple(trace.tube(last) for trace in self._traces.values())
