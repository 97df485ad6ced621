"""One multiplexed connection: handshake, dispatch, ping, cancel, for byte streams and WebSockets."""
