"""From bytes to frames and back: lines, server-sent events, and the event ids that ride on those."""
