from pathlib import Path

Path("../tools.json").write_text('{"tools": [{"name": "lookup"}]}', encoding="utf-8")
Path("../elsewhere").mkdir()
Path("../elsewhere/tools.json").write_text("[]", encoding="utf-8")
Path("data/more").symlink_to("../../elsewhere")
