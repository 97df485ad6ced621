"""A walk through a world of bytes: frames, heads and bodies that are cut anywhere, payloads and clocks of all kinds.

One rule for each kind of thing that happens, so that a failure prints as a program. In the end connections stop
failing: every caller has exactly one outcome, both machines let go of everything, and part.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import CallId, StreamId
from mcpstreams_sansio.testing import Peers
from mcpstreams_sansio.wire.jsonrpc import JSONValue
from tests.model import byte_orders
from tests.model.byte_effects import world_of
from tests.model.byte_orders import CALLER_DOES, WHOLE, WORK_DOES, CallerDoes, WorkDoes
from tests.model.byte_wires import End, Side
from tests.model.byte_world import ByteWorld, Setting
from tests.model.payloads import PAYLOADS
from tests.sansio.client.invariants import check_invariants as check_client
from tests.sansio.server.invariants import check_invariants as check_server

MOST_CALLS = 6
WHICH = st.integers(0, 9)
SIZES = st.one_of(st.integers(1, 12), st.integers(1, 400), st.just(WHOLE))
"""How many bytes arrive at once."""
PLACES = st.one_of(st.integers(0, 12), st.integers(0, 2_000), st.integers(0, 100_000))
"""Behind how many bytes something is cut."""
PIECES = st.lists(st.one_of(st.just(1), st.integers(1, 9), st.integers(1, 90)), min_size=1, max_size=5)
LOSSES = st.sampled_from([End.BROKEN, End.SILENT, End.ENDED])
CONTENTS = st.lists(PAYLOADS, min_size=1, max_size=3)
"""What the first calls hold."""
EPOCHS = st.sampled_from([0.0, 0.1, -1e6, 1e9 + 0.7, 1e12])
SECONDS = st.one_of(st.sampled_from([0.0, 5e-324, 1e-9, 0.25, 15.0, 1e9]), st.floats(0, 1), st.floats(0, 40))
"""How far a clock jumps."""
SHARES = st.sampled_from([0.0, 0.5, 0.999_999, 1.0, 1.000_001, 1.5])
"""When somebody wakes up, as a share of the time until it was to."""
SETTINGS = st.builds(
    Setting,
    framing=st.sampled_from(Framing),
    peers=st.sampled_from(Peers),
    line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    durable=st.booleans(),
    dawdling=st.booleans(),
    room=st.sampled_from([None, 0, 1_000]),
    window=st.sampled_from([1_024, 3]),
    max_unread=st.sampled_from([10_000, 2]),
    server_epoch=EPOCHS,
    client_epoch=EPOCHS,
)


class ByteWalk(RuleBasedStateMachine):
    """A world of bytes that Hypothesis walks through."""

    world: ByteWorld

    @initialize(setting=SETTINGS, contents=CONTENTS, carried=st.booleans())
    def begin(self, setting: Setting, contents: list[JSONValue], carried: bool) -> None:
        self.begin_in(setting, contents, carried)

    def begin_in(self, setting: Setting, contents: list[JSONValue], carried: bool) -> None:
        """Make a call for each of these, and let them arrive or not."""
        self.world = world_of(setting)
        for content in contents:
            byte_orders.call(self.world, content)
        if carried:
            byte_orders.carry(self.world)

    def callers_that_can(self, do: CallerDoes) -> list[CallId]:
        people = self.world.people
        return [call_id for call_id, caller in people.callers.items() if CALLER_DOES[do](people, caller)]

    def works_that_can(self, do: WorkDoes) -> list[StreamId]:
        return [stream_id for stream_id, work in self.world.people.works.items() if WORK_DOES[do](work)]

    # ---------------------------------------------------------------------------------------------------- applications

    @precondition(lambda self: self.world.people.calls < MOST_CALLS)
    @rule(content=PAYLOADS)
    def call(self, content: JSONValue) -> None:
        byte_orders.call(self.world, content)

    @precondition(lambda self: self.world.people.loose)
    @rule(content=PAYLOADS)
    def answer_loose(self, content: JSONValue) -> None:
        byte_orders.answer_loose(self.world, content)

    # --------------------------------------------------------------------------------------------------------- network

    @precondition(lambda self: any(wire.brings_up for wire in self.world.wires))
    @rule(which=WHICH, size=SIZES)
    def up(self, which: int, size: int) -> None:
        wires = [wire for wire in self.world.wires if wire.brings_up]
        self.world.bring_up(wires[which % len(wires)], size)

    @precondition(lambda self: any(wire.brings_down for wire in self.world.wires))
    @rule(which=WHICH, size=SIZES)
    def down(self, which: int, size: int) -> None:
        wires = [wire for wire in self.world.wires if wire.brings_down]
        self.world.bring_down(wires[which % len(wires)], size)

    @precondition(lambda self: byte_orders.is_under_way(self.world))
    @rule(sizes=PIECES, pieces=st.integers(1, 300))
    def trickle(self, sizes: list[int], pieces: int) -> None:
        byte_orders.trickle(self.world, sizes, pieces)

    @precondition(lambda self: byte_orders.is_under_way(self.world))
    @rule(sizes=PIECES, pieces=st.integers(1, 300), which=WHICH, end=LOSSES)
    def tear(self, sizes: list[int], pieces: int, which: int, end: End) -> None:
        byte_orders.trickle(self.world, sizes, pieces)
        wires = [wire for wire in self.world.wires if wire.server is not Side.UNBORN and wire.client is Side.OPEN]
        for wire in wires[which % len(wires) :][:1] if wires else []:
            for pipe in (wire.up, wire.down):
                self.world.cut(wire, pipe, 0, end)

    @precondition(lambda self: byte_orders.is_under_way(self.world))
    @rule()
    def carry(self) -> None:
        byte_orders.carry(self.world)

    @precondition(lambda self: self.world.wires)
    @rule(
        which=WHICH,
        up=st.none() | st.tuples(PLACES, LOSSES),
        down=st.none() | st.tuples(PLACES, LOSSES),
    )
    def cut(self, which: int, up: tuple[int, End] | None, down: tuple[int, End] | None) -> None:
        wire = self.world.wires[which % len(self.world.wires)]
        if wire.server is Side.UNBORN:
            self.world.refuse(wire)
            return
        for pipe, torn in ((wire.up, up), (wire.down, down)):
            if torn is not None:
                after, end = torn
                self.world.cut(wire, pipe, after % (pipe.size + 1), end)

    @precondition(lambda self: self.world.batches)
    @rule()
    def log(self) -> None:
        self.world.log()

    # ------------------------------------------------------------------------------------------------------------ time

    @rule(share=SHARES, woken=st.booleans())
    def wait(self, share: float, woken: bool) -> None:
        self.world.wait((self.world.next_wait() or 0.0) * share)
        if woken:
            self.world.wake()

    @rule(seconds=SECONDS, which=st.sampled_from(["client", "server", "both"]), woken=st.booleans())
    def jump(self, seconds: float, which: str, woken: bool) -> None:
        self.world.wait(
            seconds, *({"client": [self.world.client_clock], "server": [self.world.server_clock]}.get(which, []))
        )
        if woken:
            self.world.wake()

    # ----------------------------------------------------------------------------------------------------------- always

    @invariant()
    def the_books_agree(self) -> None:
        if hasattr(self, "world"):
            check_client(self.world.client._streams, self.world.client_clock.now)
            check_server(self.world.server._streams, self.world.server._now)

    def teardown(self) -> None:
        """Let nothing fail any more: every caller has its outcome, and both machines let go of everything."""
        if hasattr(self, "world") and not self.world.telling:
            byte_orders.settle(self.world)


def rule_for_callers(name: str, *deeds: CallerDoes) -> Callable[..., None]:
    """Return the rule by which a caller does one of these: the first one that can, the second, ..."""

    def happen(self: ByteWalk, do: CallerDoes, which: int, content: JSONValue) -> None:
        able = self.callers_that_can(do)
        if able:
            do(self.world, able[which % len(able)], content)

    happen.__name__ = name
    happens: Callable[..., None] = rule(do=st.sampled_from(deeds), which=WHICH, content=PAYLOADS)(happen)
    return precondition(lambda self: any(map(self.callers_that_can, deeds)))(happens)


def rule_for_works(name: str, *deeds: WorkDoes, times: int = 1) -> Callable[..., None]:
    """Return the rule by which the work on a call does one of these, several times perhaps."""

    def happen(self: ByteWalk, do: WorkDoes, which: int, contents: list[JSONValue]) -> None:
        for content in contents:
            able = self.works_that_can(do)
            if able:
                do(self.world, able[which % len(able)], content)

    happen.__name__ = name
    contents = st.lists(PAYLOADS, min_size=1, max_size=times)
    happens: Callable[..., None] = rule(do=st.sampled_from(deeds), which=WHICH, contents=contents)(happen)
    return precondition(lambda self: any(map(self.works_that_can, deeds)))(happens)


for each in (
    rule_for_callers("answer", byte_orders.answer),
    rule_for_callers("take", byte_orders.take),
    rule_for_callers("turn", byte_orders.cancel, byte_orders.detach, byte_orders.attach),
    rule_for_works("send", byte_orders.send, times=5),
    rule_for_works("ask", byte_orders.ask),
    rule_for_works("end", byte_orders.succeed, byte_orders.fail, byte_orders.release),
):
    setattr(ByteWalk, each.__name__, each)
