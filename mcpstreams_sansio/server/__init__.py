"""The server's side of streams: what it is told, what it wants done, and the machine between the two."""
