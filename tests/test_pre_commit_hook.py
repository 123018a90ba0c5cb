"""The hooks as pre-commit itself runs them: in a repository of somebody else, from an environment of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from pages import ROOT, examples

PAGE = ROOT / "docs" / "editors.md"
HOOKS = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
PRE_COMMIT = Path(sys.executable).with_name("pre-commit")
# What the hooks' environment is built of: copied, since pre-commit sees of a repository only what is committed.
BUILT = ("gym_mcp_manifest", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

needs_pre_commit = pytest.mark.skipif(not PRE_COMMIT.exists(), reason="pre-commit is not installed here")


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_a_hook_says_when_it_runs_on_one_line(hook: Mapping[str, str]) -> None:
    assert "\n" not in hook["files"]
    files = re.compile(hook["files"])
    for name in ("mcp.yaml", "mcp.yml", "servers/office/mcp.yaml"):
        assert files.search(name)
    for name in ("mcp_yaml.py", "README.md", "mcp.yaml.orig"):
        assert not files.search(name)


def test_only_the_hook_for_all_manifests_runs_when_data_change() -> None:
    ran = {name for name, hook in HOOKS.items() if re.search(hook["files"], "office/data/example.jsonl")}
    assert ran == {name for name, hook in HOOKS.items() if not hook["pass_filenames"]} == {"gym-mcp-validate-all"}


def test_the_page_offers_each_hook_by_itself() -> None:
    snippets = [yaml.safe_load(example.text)["repos"] for example in examples(PAGE) if example.kind == "hooks"]
    assert [[hook["id"] for hook in repo["hooks"]] for (repo,) in snippets] == [[name] for name in HOOKS]


class Repository:
    """A git repository with our hooks in its configuration."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self._environment = folder, dict(environment)
        folder.mkdir()
        self.run("git", "init", "--quiet")

    def write(self, files: Mapping[str, str]) -> None:
        """Write files and stage them."""
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        self.run("git", "add", "--all")

    def commit(self) -> tuple[int, str]:
        """Commit what is staged, hooks and all; exit code and what was said."""
        done = self.run("git", "commit", "--message", "Change", check=False)
        return done.returncode, done.stdout

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, encoding="utf-8", timeout=300, check=False, **streams
        )
        assert not check or done.returncode == 0, done.stdout
        return done


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with both hooks installed; skips where the packages that they need cannot be had."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}
    person = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment |= {**person, "PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    for switch in ("GITHUB_ACTIONS", "SKIP", "FORCE_COLOR", "PYTHONPATH"):
        environment.pop(switch, None)

    ours = Repository(tmp_path / "gym_mcp_manifest", environment)
    for name in BUILT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, ours.folder / name)
    ours.write({".gitignore": "__pycache__/\n"})
    ours.run("git", "commit", "--quiet", "--message", "The working tree as it is")

    theirs = Repository(tmp_path / "servers", environment)
    hooks = [{"id": "gym-mcp-validate"}, {"id": "gym-mcp-validate-all", "args": ["office", "weather"]}]
    used = {"repo": str(ours.folder), "rev": ours.run("git", "rev-parse", "HEAD").stdout.strip(), "hooks": hooks}
    theirs.write({".pre-commit-config.yaml": yaml.safe_dump({"repos": [used]})})
    theirs.run("git", "commit", "--quiet", "--message", "Start")
    installed = theirs.run(str(PRE_COMMIT), "install", "--install-hooks", check=False)
    # Whoever has no network may go without; a build server that has lost it may not.
    if installed.returncode and "No matching distribution found" in installed.stdout and "CI" not in os.environ:
        pytest.skip("the packages that the hooks need cannot be had here")
    assert installed.returncode == 0, installed.stdout
    return theirs


GOOD = "version: 1\ncatch_all:\n  - tools:\n      - file: data/tools.json\n"


# Building the environment takes longer than the rest of the test, and much longer on a slow line.
@needs_pre_commit
@pytest.mark.timeout(400)
def test_a_commit_is_refused_until_the_printed_cure_is_followed(repository: Repository) -> None:
    repository.write(
        {
            "office/mcp.yaml": "version: 1\nroutes:\n  exclud: [/debug]\n",
            "weather/mcp.yaml": GOOD,
            "weather/data/tools.json": '[{"name": "get_weather", "description": "Tells the weather."}]\n',
            "drafts/mcp.yaml": "nothing yet\n",
        }
    )
    code, said = repository.commit()
    assert code == 1
    assert "office/mcp.yaml:3:3: error[GMM201] unknown key `exclud` in `routes`" in said
    assert "did you mean `exclude`?" in said
    assert said.count("exit code: 1\n") == 2
    # The hook for files looks at the draft, the other one was told where to look.
    assert "drafts/mcp.yaml:1:1: error" in said.partition("every manifest")[0]
    assert "drafts" not in said.partition("every manifest")[2]

    repository.write({"office/mcp.yaml": "version: 1\nroutes:\n  exclude: [/debug]\n"})
    (repository.folder / "drafts" / "mcp.yaml").unlink()
    repository.run("git", "add", "--all")
    code, said = repository.commit()
    assert (code, said.count("Passed")) == (0, 2), said

    # A change of the data alone breaks a manifest that nobody touched.
    repository.write({"weather/data/tools.json": '[\n  {"nam": "get_weather"}\n]\n'})
    code, said = repository.commit()
    assert code == 1
    assert re.search(r"^weather/data/tools\.json:2:\d+: error\[GMM403\]", said, re.MULTILINE), said
    assert "(no files to check)Skipped" in said
