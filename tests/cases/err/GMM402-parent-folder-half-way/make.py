from pathlib import Path

Path("../tools.json").write_text('{"tools": [{"name": "lookup"}]}', encoding="utf-8")
