"""Streamable HTTP as pure rules: requests in, heads and body chunks out, never HTTP/1.1 bytes."""
