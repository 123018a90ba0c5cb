import json
from pathlib import Path

words = {f"word_{n}": {"type": "string", "description": "One of very many words."} for n in range(400)}
tool = {"name": "write", "description": "Write words.", "parameters": {"type": "object", "properties": words}}
Path("data").mkdir()
Path("data/tools.json").write_text(json.dumps({"tools": [tool]}), encoding="utf-8")
