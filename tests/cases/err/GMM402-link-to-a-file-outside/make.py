from pathlib import Path

Path("../tools.json").write_text('{"tools": [{"name": "lookup"}]}', encoding="utf-8")
Path("data").mkdir()
Path("data/tools.json").symlink_to("../../tools.json")
