"""Trio bindings of `mcpstreams_sansio`: sockets, timers and tasks around machines that decide everything.

No rule of the protocol lives here. A binding reads bytes, hands them to a machine, carries out the effects that come
back, and wakes the machine at the deadline that it names.
"""

from __future__ import annotations
