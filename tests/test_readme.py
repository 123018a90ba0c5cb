"""The README's own promises: its Python example serves a tool, its hook is ours, its table has every key."""

import json
import re

import yaml
from fastapi.testclient import TestClient
from pages import ROOT, examples

from gym_mcp_manifest.manifest.keys import known_keys

README_PAGE = ROOT / "README.md"
README = README_PAGE.read_text(encoding="utf-8")
(HOOKS,) = (example.text for example in examples(README_PAGE) if example.kind == "hooks")


def test_the_hook_is_the_one_that_is_offered() -> None:
    (hook,) = yaml.safe_load(HOOKS)["repos"][0]["hooks"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (offered,) = (offered for offered in hooks if offered["id"] == hook["id"])
    assert {key: hook[key] for key in ("id", "name", "entry", "files")} == {
        key: offered[key] for key in ("id", "name", "entry", "files")
    }


def test_the_table_of_the_language_has_every_section() -> None:
    table = README.partition("## The language")[2].partition("## Sessions")[0]
    assert set(known_keys(())) <= set(re.findall(r"`([^`]+)`", table))


def test_the_python_example_serves_its_tool() -> None:
    (source,) = (example.text for example in examples(README_PAGE) if example.kind == "python")
    names: dict[str, object] = {"__name__": "readme_example"}
    exec(compile(source.replace("print(", "tool_names = ("), "README.md", "exec"), names)
    assert names["tool_names"] == ["get_weather"]
    with TestClient(names["app"]) as client:  # type: ignore[arg-type]
        token = client.post("/seed_session").json()["mcp"]["headers"]
        call = {"name": "get_weather", "arguments": {"city": "Paris"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        result = client.post("/mcp", json=message, headers=token).json()["result"]
        assert json.loads(result["content"][0]["text"]) == {"weather": "It is sunny in Paris."}
        assert client.post("/verify").json() == {"reward": 1.0}
