"""The committed schema in the hands of others: editors of either draft, check-jsonschema, yaml-language-server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, Draft202012Validator
from pages import examples

ROOT = Path(__file__).parents[1]
SCHEMA_FILE = ROOT / "schemas" / "mcp.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
SHIPPED = sorted((ROOT / "manifests").glob("*/mcp.yaml"))
CASES = ROOT / "tests" / "cases"
MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)")

CHECK_JSONSCHEMA = Path(sys.executable).with_name("check-jsonschema")
in_one_leg = pytest.mark.skipif(
    not CHECK_JSONSCHEMA.exists(), reason="runs where the dependency group `check` is installed"
)

#: Keywords whose values are data, or mappings of names to schemas.
DATA = ("default", "examples", "enum", "const", "required")
MAPS = ("properties", "patternProperties", "$defs")
#: All that may be used: what every draft from 07 on takes alike, and `doNotSuggest`, which editors alone know.
ALIKE = {
    *("$schema", "$defs", "$ref", "title", "description", "default", "examples", "doNotSuggest"),
    *("type", "enum", "const", "not", "anyOf", "allOf", "if", "then", "else"),
    *("properties", "patternProperties", "additionalProperties", "required", "items", "minItems"),
    *("minimum", "exclusiveMinimum", "minLength"),
}


def schemas(node: dict[str, Any], path: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within the schema, with the path to it."""
    yield path, node
    for word, value in node.items():
        if word in MAPS:
            for name, inner in value.items():
                yield from schemas(inner, f"{path}/{word}/{name}")
        elif word not in DATA:
            for place, inner in enumerate(value) if isinstance(value, list) else [("", value)]:
                if isinstance(inner, dict):
                    yield from schemas(inner, f"{path}/{word}/{place}".rstrip("/"))


ALL = dict(schemas(SCHEMA))
KEYS = {path: node for path, node in ALL.items() if path.rpartition("/")[0].endswith(MAPS)}


def target(reference: str) -> dict[str, Any]:
    return ALL[reference]


# What a person at an editor reads.


def test_the_walk_reaches_the_whole_schema() -> None:
    written = SCHEMA_FILE.read_text(encoding="utf-8")
    assert len(KEYS) > 150
    assert sum("description" in node for node in ALL.values()) >= written.count('"description": "')
    assert sum("$ref" in node for node in ALL.values()) == written.count('"$ref"')


@pytest.mark.parametrize("path", ["#", *KEYS])
def test_every_key_section_and_pattern_is_described(path: str) -> None:
    description = ALL[path].get("description", "")
    assert len(description) >= 10
    assert description[-1] in ".:"
    assert "\n" not in description


def test_titles_are_given_to_sections_alone() -> None:
    titled = {path: node["title"] for path, node in ALL.items() if "title" in node}
    assert len(titled) > 15
    for path, title in titled.items():
        assert path == "#" or path.startswith("#/$defs/")
        assert "properties" in ALL[path]
        assert path == "#" or re.fullmatch(r"[A-Z][a-z]+( [a-z]+)?", title)


def test_keys_whose_form_is_not_plain_show_examples() -> None:
    shown = {path for path, node in ALL.items() if "examples" in node}
    for path in (
        *("AllowRule/properties/from", "AllowRule/properties/when", "CatchAll/properties/route"),
        *("FileSource/properties/file", "FileSource/properties/select", "PythonSource/properties/python"),
        *("RouteEntry/properties/match", "ToolEntry/properties/only_if", "Names/properties/patterns"),
    ):
        assert f"#/$defs/{path}" in shown


@pytest.mark.parametrize("validator", [Draft202012Validator, Draft7Validator])
def test_examples_and_defaults_may_be_written_as_they_are(validator: Any) -> None:
    for path, node in ALL.items():
        for value in (*node.get("examples", ()), *([node["default"]] if "default" in node else ())):
            found = validator({**node, "$defs": SCHEMA["$defs"]}).iter_errors(value)
            assert [error.message for error in found] == [], path
            # An editor would write it, and nothing would have been said.
            assert value not in (None, [], {}), path


def test_keys_that_do_not_work_yet_are_not_offered() -> None:
    hidden = {path.rpartition("/")[2] for path, node in ALL.items() if node.get("doNotSuggest")}
    refused = {
        path.rpartition("/")[2] for path, node in KEYS.items() if "Not supported yet." in node["description"]
    }
    limits = {path.rpartition("/")[2] for path, node in KEYS.items() if "Only null so far." in node["description"]}
    assert hidden == refused | limits
    assert {"bind", "session", "max_age"} <= hidden


# One meaning under both drafts.


def test_only_words_that_mean_the_same_since_draft_07_are_used() -> None:
    assert {word for node in ALL.values() for word in node} <= ALIKE
    assert not [path for path, node in ALL.items() if isinstance(node.get("items"), list)]


def test_what_draft_07_ignores_beside_a_reference_is_said_by_its_target_too() -> None:
    references = {path: node for path, node in ALL.items() if "$ref" in node}
    assert len(references) > 10
    for path, node in references.items():
        assert node.keys() <= {"$ref", "description"}, path
        if "description" in node:
            assert node["description"] == target(node["$ref"])["description"], path


# What others make of it.


def check_jsonschema(*files: Path) -> subprocess.CompletedProcess[str]:
    # It must not look for anything elsewhere: nobody listens there.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return subprocess.run(
        [CHECK_JSONSCHEMA, "--schemafile", SCHEMA_FILE, "--output-format", "json", *files],
        env={**os.environ, **nowhere},
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )


def faulty(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert done.returncode in (0, 1), done.stderr
    return {error["filename"].split("/")[-2] for error in json.loads(done.stdout)["errors"]}


#: Faults that no shape tells: the text is well-formed, and the schema lets it pass.
UNSEEN = {
    "GMM201-misspelt-key-of-a-patch": "the fault is in the configuration",
    "GMM201-misspelt-key-of-an-override": "the fault is on the command line",
    "GMM202-dispatcher-without-tools": "across keys",
    "GMM202-ignored-without-a-route": "across keys",
    "GMM202-rule-that-says-nothing": "across keys",
    "GMM203-name-pattern-without-a-tool": "the grammar of name patterns",
    "GMM203-no-is-no-truth-value": "check-jsonschema reads YAML 1.1, where `no` is false",
    "GMM203-version-with-a-point": "JSON has one kind of number, so 1.0 is 1",
    "GMM204-null-in-a-patch": "the fault is in the configuration",
    "GMM206-headers-of-calls": "the fault is in the configuration",
}


@in_one_leg
def test_check_jsonschema_passes_what_is_shipped_and_what_the_cases_call_good() -> None:
    files = [*SHIPPED, *sorted(CASES.glob("ok/*/mcp.yaml"))]
    assert len(files) > 40
    assert faulty(check_jsonschema(*files)) == set()


@in_one_leg
def test_check_jsonschema_refuses_faults_of_shape() -> None:
    files = sorted(file for file in CASES.glob("err/*/mcp.yaml") if "GMM201" <= file.parent.name[:6] <= "GMM206")
    assert len(files) > 30
    assert faulty(check_jsonschema(*files)) == {file.parent.name for file in files} - UNSEEN.keys()


@in_one_leg
def test_check_jsonschema_holds_the_schema_for_a_good_one() -> None:
    done = subprocess.run(
        [CHECK_JSONSCHEMA, "--check-metaschema", SCHEMA_FILE], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout


@in_one_leg
def test_a_language_server_completes_explains_and_checks() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "editor_check.py"], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok     completion in") >= 15
    assert done.stdout.count("ok     hover on") >= 15
    assert done.stdout.count("ok     finding:") >= 10


# The line that leads an editor to the schema.


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_the_first_line_of_a_shipped_manifest_leads_to_the_schema(path: Path) -> None:
    modeline = MODELINE.fullmatch(path.read_text(encoding="utf-8").splitlines()[0])
    assert modeline
    assert (path.parent / modeline[1]).resolve() == SCHEMA_FILE


def on_the_page(kind: str) -> list[str]:
    """The examples of the page about editors that are of a kind."""
    return [example.text for example in examples(ROOT / "docs" / "editors.md") if example.kind == kind]


def test_the_page_about_editors_shows_that_line_in_each_manifest() -> None:
    manifests = on_the_page("manifest")
    assert manifests
    assert all(MODELINE.match(text) for text in manifests)


def test_the_page_about_editors_names_the_versions_that_were_tried() -> None:
    pinned = re.search(r'"yaml-language-server@(.+)"', (ROOT / "scripts" / "editor_check.py").read_text("utf-8"))
    assert pinned
    assert f" {pinned[1]} " in (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def test_the_hooks_on_the_page_are_offered() -> None:
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    pages = [yaml.safe_load(text) for text in on_the_page("hooks")]
    used = [hook["id"] for page in pages for hook in page["repos"][0]["hooks"]]
    assert used == [hook["id"] for hook in offered]


def test_the_commands_of_the_workflow_run(tmp_path: Path) -> None:
    (text,) = on_the_page("workflow")
    steps = yaml.safe_load(text)["jobs"]["manifests"]["steps"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("gym-mcp")]
    assert len(commands) == 2
    (tmp_path / "servers").symlink_to(ROOT / "manifests")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        run = ["bash", "-c", command]
        done = subprocess.run(
            run, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    (sent,) = (step["with"]["sarif_file"] for step in steps if "upload-sarif" in step.get("uses", ""))
    assert json.loads((tmp_path / sent).read_text(encoding="utf-8"))["version"] == "2.1.0"
