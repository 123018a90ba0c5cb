"""The README's examples are run: what people copy must work."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from fastapi.testclient import TestClient

from gym_mcp_manifest.instance import read_instance
from gym_mcp_manifest.manifest.keys import usable_keys
from gym_mcp_manifest.manifest.loader import manifest_from_mapping, read_manifest_text

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
MANIFESTS = [text for kind, text in BLOCKS if kind == "yaml" and "version: 1" in text]
(HOOKS,) = (text for kind, text in BLOCKS if kind == "yaml" and text.startswith("repos:"))
CONFIGS = [text for kind, text in BLOCKS if kind == "yaml" and "version: 1" not in text and text != HOOKS]
COMMANDS = [
    line.removeprefix("$ ").partition("  #")[0]
    for kind, text in BLOCKS
    if kind == "console"
    for line in text.splitlines()
    if line.startswith("$ gym-mcp") and " serve " not in line
]


@pytest.mark.parametrize("text", MANIFESTS)
def test_every_manifest_is_valid(text: str) -> None:
    manifest, found = read_manifest_text("README.md", text.encode())
    assert manifest is not None
    assert found == ()


@pytest.mark.parametrize("text", CONFIGS)
def test_every_configuration_is_valid(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_SECRET", "a secret")
    config = tmp_path / "config.yaml"
    config.write_text(text, encoding="utf-8")
    instance = read_instance(config)
    assert instance.on
    manifest_from_mapping({"version": 1}).under(instance.patch, "README")


def test_the_hook_is_the_one_that_is_offered() -> None:
    (hook,) = yaml.safe_load(HOOKS)["repos"][0]["hooks"]
    (offered,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {key: hook[key] for key in ("id", "name", "entry", "files")} == {
        key: offered[key] for key in ("id", "name", "entry", "files")
    }


@pytest.mark.parametrize(
    "path",
    [
        (),
        *((name,) for name in ("server", "routes", "sessions", "names", "limits")),
        ("catch_all", 0),
        ("catch_all", 0, "tools", 0),
        ("tools", "x"),
        ("tools", "x", "annotations"),
        ("sessions", "allow", 0),
    ],
)
def test_the_table_of_the_language_has_every_key_that_works(path: tuple[str | int, ...]) -> None:
    table = README.partition("## The language")[2].partition("## Sessions")[0]
    keys = {word for words in re.findall(r"`([^`]+)`", table) for word in words.split(".")}
    later = {"max_age", "call_timeout", "result_bytes", "calls_per_session"}
    assert set(usable_keys(path)) - later <= keys | {part.removesuffix("[]") for part in keys}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str) -> None:
    arguments = shlex.split(command)[1:]
    run = [sys.executable, "-m", "gym_mcp_manifest", *arguments]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    if " call " in command:
        assert done.stdout.strip() in README


def test_the_python_example_serves_its_tool() -> None:
    (source,) = (text for kind, text in BLOCKS if kind == "python")
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
