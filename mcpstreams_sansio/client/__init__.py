"""The client's side of streams: following them over every loss, until each call has exactly one outcome."""
