"""A server that keeps the streams of one tool for an hour, and lets another one's work run on when it is abandoned."""

from __future__ import annotations

from mcpstreams_sansio import ResumeInterval, StreamPolicies, StreamPolicy

POLICIES = StreamPolicies(
    {
        "tools/call:render": StreamPolicy(interval=ResumeInterval(min=5, max=3_600)),
        "tools/call:deploy": StreamPolicy(run_on=True),
    }
)
"""What `open_server`, and whatever opens one, takes as `policies`."""
