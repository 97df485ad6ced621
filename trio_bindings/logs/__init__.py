"""Where a server's records become durable."""
