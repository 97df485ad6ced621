"""What is on the wire: JSON-RPC messages, and the methods, params and results that travel in them."""
