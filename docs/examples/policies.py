"""A server that keeps the streams of one tool for an hour, and lets another one's work run on when it is abandoned."""

from __future__ import annotations

from mcpstreams_sansio import ResumeInterval, ServerConfig, StreamPolicies, StreamPolicy
from trio_bindings.server import new_identity


def configured() -> ServerConfig:
    """Return what `serve_tcp` and `serve_http` take as `config`."""
    policies = {
        "tools/call:render": StreamPolicy(interval=ResumeInterval(min=5, max=3_600)),
        "tools/call:deploy": StreamPolicy(run_on=True),
    }
    identity = new_identity({"name": "example", "version": "1"}, {"tools": {}})
    return ServerConfig(identity=identity, policies=StreamPolicies(policies))


if __name__ == "__main__":
    configured()
