"""Which worlds are searched; and Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE.

* `fast`, the default: a handful of new examples each time, for the minute in which one works.
* `ci`: more of them, the same ones each time, so that a failure can be repeated.
* `mutants`: the same without looking for the shortest failure, where it only matters whether there is one.
* `deep`: as many as patience allows, new ones each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import Phase, settings

# No example has a deadline: the machine may be busy, and what must not hang is bounded by pytest's own time-out.
settings.register_profile("fast", max_examples=30, stateful_step_count=30, deadline=None)
settings.register_profile(
    "ci", max_examples=100, stateful_step_count=50, deadline=None, derandomize=True, print_blob=True
)
settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("deep", max_examples=5_000, stateful_step_count=100, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the searches of worlds be short, where only what they execute is looked at."""
    parser.addoption("--worlds", choices=["usual", "quick"], default="usual", help="Which worlds are searched.")
