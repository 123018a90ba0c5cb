"""`python -m gym_mcp_manifest`: the same as `gym-mcp`."""

from gym_mcp_manifest.cli.main import main

main()
