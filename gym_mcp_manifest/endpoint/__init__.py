"""The MCP endpoint: tool handlers free of any SDK, one small interface to each SDK line, the ASGI front."""
