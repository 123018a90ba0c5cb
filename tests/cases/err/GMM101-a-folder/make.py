from pathlib import Path

Path("manifest").mkdir()
Path("manifest/mcp.yaml").mkdir()
