"""The application at the server of a world."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.testing.work import Work, WorkState


def test_work_waits_for_its_answer_and_takes_one() -> None:
    work = Work(1, StreamId("stream-00001"), 7, "p", messages=0, asks=1)
    assert not work.may_respond
    asking = work.ask("ask-00001")
    assert asking.state is WorkState.ASKING
    assert asking.answered("ask-00001").may_respond
    with pytest.raises(Violation, match="a question is answered once"):
        asking.answered("ask-00002")
    with pytest.raises(Violation, match="a question is answered once"):
        work.answered("ask-00001")
