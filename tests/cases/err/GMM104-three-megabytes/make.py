from pathlib import Path

Path("mcp.yaml").write_text("version: 1\n" + "# filler\n" * 350_000, encoding="utf-8")
