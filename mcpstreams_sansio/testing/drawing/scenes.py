"""What each action of a world of streams looks like, and in which order what follows from it is shown."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.client.inputs import (
    TakeMessages,
)
from mcpstreams_sansio.testing.actions import Kind
from mcpstreams_sansio.testing.drawing.captions import (
    down_caption,
    post_caption,
    seconds,
    short,
)
from mcpstreams_sansio.testing.drawing.diagram import Arrow, Pause, Tone
from mcpstreams_sansio.testing.drawing.happenings import show
from mcpstreams_sansio.testing.drawing.stage import DISK, SERVER, Stage
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.properties import Action
from mcpstreams_sansio.testing.state import Role
from mcpstreams_sansio.testing.wires import Close, End

_OF_A_CLIENT: Final = frozenset({Role.CLIENT_IS_TOLD, Role.CLIENT_WANTS})


def show_action(stage: Stage, action: Action) -> None:
    """Show what an action itself does, whatever a machine makes of it."""
    name = action.target or ""
    match action.kind:
        case Kind.CONNECT:
            _show_handshake(stage, action.target or FIRST)
        case Kind.UP:
            stage.arrive(name, True, post_caption(stage.before(name).up[0]))
        case Kind.DOWN:
            _show_arrival(stage, name)
        case Kind.CUT | Kind.STRAGGLE:
            unknown = stage.before(name).server is End.OPEN
            stage.lose(
                name, stage.client_of(name), "connection lost" + (", the server does not know" if unknown else "")
            )
        case Kind.FADE:
            stage.lose(name, SERVER, "connection lost, the client does not know")
        case Kind.NOTICE:
            stage.lose(name, SERVER, "connection lost")
        case Kind.CRASH:
            stage.crash()
        case _:
            _show_completion(stage, action)


def _show_completion(stage: Stage, action: Action) -> None:
    match action.kind:
        case Kind.WRITTEN:
            stage.show(Arrow(action.target or "", SERVER, "has taken the write"))
        case Kind.CRASH_CLIENT:
            stage.crash_client()
        case Kind.LOGGED:
            stage.show(Arrow(DISK, SERVER, "the batch is durable"))
        case _:
            pass  # what anybody does is shown as what the machines are told


def _show_handshake(stage: Stage, name: str) -> None:
    home, client = stage.state.homes[name], stage.client_named(name)
    shared, scope = home.wire, home.scope
    if shared is not None:
        stage.open(shared)
    stage.show(Arrow(client, SERVER, "handshake" if shared is not None else short(f"handshake: {scope}")))


def _show_arrival(stage: Stage, name: str) -> None:
    wire = stage.before(name)
    item = wire.down[0]
    if isinstance(item, Close) and wire.server is End.GONE:
        stage.break_off(name)
        stage.arrive(name, False, "connection lost", Tone.BAD)
    else:
        stage.arrive(name, False, down_caption(item))


def show_time(stage: Stage, passed: float, overtakes: bool) -> None:
    """Show that time passes."""
    if passed:
        early = ", before what is under way arrives" if overtakes else ""
        stage.show(Pause(f"{seconds(passed)} {'passes' if passed == 1 else 'pass'}{early}"))


def show_happenings(stage: Stage, action: Action) -> None:
    """Show what the machines were told and want done, in order."""
    for role, happening in stage.state.happened:
        if isinstance(happening, TakeMessages):
            # Usually a caller comes back at once for more, which nobody wants to see after each message.
            if action.kind == Kind.TAKE:
                stage.show(
                    Arrow(
                        stage.caller(happening.call_id),
                        stage.client_for(happening),
                        f"took all through #{happening.through}",
                    )
                )
        else:
            stage.machine = stage.client_for(happening) if role in _OF_A_CLIENT else SERVER
            show(happening, stage)
