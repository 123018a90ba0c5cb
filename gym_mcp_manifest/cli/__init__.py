"""The `gym-mcp` command: thin commands over the stages."""
