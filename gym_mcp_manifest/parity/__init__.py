"""Parity: the same inputs through plain HTTP and through MCP, and what differs."""
