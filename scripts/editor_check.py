"""Check that editors complete, explain and check manifests by the committed schema: ask yaml-language-server.

    python scripts/editor_check.py

The server is the one on the PATH, or else the one that npx brings. Exits 1 where something does not hold, and 2
where no server is to be had.
"""

from __future__ import annotations

import fcntl
import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "schemas" / "mcp.schema.json").read_text(encoding="utf-8"))
MODELINE = "# yaml-language-server: $schema=../../schemas/mcp.schema.json\n"
PINNED = "yaml-language-server@1.25.0"
SECONDS = 60

#: What stands for the cursor in the texts below.
CURSOR = "|"
#: What the server asks its editor for.
SETTINGS: dict[str | None, Any] = {
    "yaml": {
        "validate": True,
        "hover": True,
        "completion": True,
        "schemaStore": {"enable": False, "url": ""},
        "schemas": {"./schemas/mcp.schema.json": "**/by-name/mcp.yaml"},
    },
    "[yaml]": {"editor.tabSize": 2},
}


@dataclass(frozen=True)
class Completion:
    """What is offered at the cursor: all of `offered`, none of `hidden`."""

    place: str
    text: str
    offered: str
    hidden: str = ""


@dataclass(frozen=True)
class Hover:
    """The cursor's key is explained as the schema describes it, in the root or a section under `$defs`."""

    text: str
    section: str
    key: str


@dataclass(frozen=True)
class Fault:
    """A text with one fault: the line of the finding, counted from 1 without the modeline, and words of it."""

    text: str
    line: int
    message: str


FILE_KEYS = "file except select include exclude on_conflict optional"
PYTHON_KEYS = "python args kwargs select include exclude on_conflict optional"
INLINE_KEYS = "name description input_schema optional"

COMPLETIONS = (
    Completion(
        "the top",
        "version: 1\n|",
        "server dispatch skip_middleware routes catch_all tools sessions names limits",
        "version",
    ),
    Completion("an empty file", "|", "version routes tools"),
    Completion("routes", "version: 1\nroutes:\n  |", "include exclude unlisted naming specs"),
    Completion("a dispatcher", "version: 1\ncatch_all:\n  - |", "route tools dispatch ignore optional"),
    Completion(
        "an empty source",
        "version: 1\ncatch_all:\n  - tools:\n      - |",
        "file python name optional",
        "session missing select unmatched args",
    ),
    Completion(
        "a source with file",
        "version: 1\ncatch_all:\n  - tools:\n      - file: a.json\n        |",
        FILE_KEYS.removeprefix("file "),
        "file python name args session unmatched",
    ),
    Completion(
        "a source with python",
        "version: 1\ncatch_all:\n  - tools:\n      - python: a:b\n        |",
        PYTHON_KEYS.removeprefix("python "),
        "file name except session",
    ),
    Completion(
        "a source with name",
        "version: 1\ncatch_all:\n  - tools:\n      - name: a\n        |",
        INLINE_KEYS.removeprefix("name "),
        "file python select session",
    ),
    Completion(
        "an empty overlay",
        "version: 1\nroutes:\n  specs:\n    - |",
        "file python name optional unmatched",
        "session select",
    ),
    Completion(
        "an overlay with file",
        "version: 1\nroutes:\n  specs:\n    - file: a.json\n      |",
        "unmatched select",
        "name python",
    ),
    Completion(
        "a tool",
        "version: 1\ntools:\n  search:\n    |",
        "name title description input_schema output_schema annotations only_if optional arguments dispatch",
    ),
    Completion(
        "annotations",
        "version: 1\ntools:\n  search:\n    annotations:\n      |",
        "title readOnlyHint destructiveHint idempotentHint openWorldHint",
    ),
    Completion(
        "an argument",
        "version: 1\ntools:\n  search:\n    arguments:\n      city:\n        |",
        "description default value hidden",
        "bind",
    ),
    Completion("sessions", "version: 1\nsessions:\n  |", "mode allow otherwise unknown", "bind max_age"),
    Completion("a rule", "version: 1\nsessions:\n  allow:\n    - |", "when tools from empty deny optional"),
    Completion("names", "version: 1\nnames:\n  |", "normalize agents patterns max_length restore"),
    Completion("the choices of unlisted", "version: 1\nroutes:\n  unlisted: |", "error ignore"),
    Completion("the choices of otherwise", "version: 1\nsessions:\n  otherwise: |", "all none error"),
    Completion("the choices of optional", "version: 1\ncatch_all:\n  - optional: |", "true false"),
    Completion("the agents", "version: 1\nnames:\n  agents:\n    - |", "claude_code codex gemini_cli pi"),
    Completion("the only dispatch", "version: 1\ndispatch: |", "direct"),
)

HOVERS = (
    Hover("ver|sion: 1\n", "", "version"),
    Hover("version: 1\nrou|tes:\n  include: [/a]\n", "", "routes"),
    Hover("version: 1\nroutes:\n  unl|isted: error\n", "Routes", "unlisted"),
    Hover("version: 1\nroutes:\n  inclu|de: [/a]\n", "Routes", "include"),
    Hover("version: 1\ncatch|_all:\n  - tools: [{name: a}]\n", "", "catch_all"),
    Hover("version: 1\ncatch_all:\n  - to|ols: [{name: a}]\n", "CatchAll", "tools"),
    Hover("version: 1\ncatch_all:\n  - tools:\n      - fi|le: a.json\n", "FileSource", "file"),
    Hover("version: 1\ncatch_all:\n  - tools:\n      - file: a\n        sele|ct: b\n", "FileSource", "select"),
    Hover("version: 1\ncatch_all:\n  - tools:\n      - pyt|hon: a:b\n", "PythonSource", "python"),
    Hover("version: 1\nroutes:\n  specs:\n    - file: a\n      unma|tched: error\n", "FileOverlay", "unmatched"),
    Hover("version: 1\nto|ols:\n  search: {title: a}\n", "", "tools"),
    Hover("version: 1\ntools:\n  search:\n    anno|tations: {title: a}\n", "ToolEntry", "annotations"),
    Hover("version: 1\ntools:\n  search:\n    annotations:\n      tit|le: a\n", "Annotations", "title"),
    Hover("version: 1\ntools:\n  a:\n    output_s|chema: true\n", "ToolEntry", "output_schema"),
    Hover("version: 1\ntools:\n  a:\n    arguments:\n      b:\n        val|ue: 1\n", "ArgumentEntry", "value"),
    Hover("version: 1\nsess|ions:\n  otherwise: all\n", "", "sessions"),
    Hover("version: 1\nsessions:\n  other|wise: all\n", "Sessions", "otherwise"),
    Hover("version: 1\nsessions:\n  otherwise: all\n  allow:\n    - fr|om: a\n", "AllowRule", "from"),
    Hover("version: 1\nlim|its:\n  request_bytes: 1\n", "", "limits"),
)

FAULTS = (
    Fault("version: 1\nroute:\n  include: []\n", 2, "route is not allowed"),
    Fault("version: 1\nroutes:\n  exclud: []\n", 3, "exclud is not allowed"),
    Fault("version: 1\nroutes:\n  unlisted: warn\n", 3, '"ignore", "error"'),
    Fault(
        "version: 1\ncatch_all:\n  - tools:\n      - file: a.json\n        selct: b\n", 5, "selct is not allowed"
    ),
    Fault("version: 1\ncatch_all:\n  - tools:\n      - fil: a.json\n", 4, "fil is not allowed"),
    Fault(
        "version: 1\ncatch_all:\n  - tools:\n      - python: a:b\n        except: []\n", 5, "except is not allowed"
    ),
    Fault("version: 1\ntools:\n  a:\n    annotations:\n      readOnly: true\n", 5, "readOnly is not allowed"),
    Fault("version: 1\ntools:\n  a:\n    optional: 1\n", 4, "boolean"),
    Fault("version: 1\nsessions:\n  bind: {}\n", 3, "not allowed"),
    Fault("version: 1\nlimits:\n  calls_per_session: 30\n", 3, "Valid values: null"),
    Fault("routes: {}\n", 1, "version"),
    Fault("version: 2\n", 1, "1"),
)


class Server:
    """A language server over its standard streams, one request at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self._stdin, self._ids, self._documents = process.stdin, count(1), count(1)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._findings: dict[str, list[dict[str, Any]]] = {}
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def greet(self) -> str:
        """Shake hands; the server's version, where it tells."""
        can = {"workspace": {"configuration": True}, "textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
        folder = {"uri": ROOT.as_uri(), "name": ROOT.name}
        hello = {"processId": None, "rootUri": ROOT.as_uri(), "workspaceFolders": [folder], "capabilities": can}
        reply = self.ask("initialize", hello)
        self._tell("initialized", {})
        self._tell("workspace/didChangeConfiguration", {"settings": SETTINGS})
        return str(reply.get("serverInfo", {}).get("version", ""))

    def open(self, text: str, uri: str | None = None) -> str:
        """Open a text as if it stood in a folder beside the shipped manifests; its address."""
        uri = uri or (ROOT / "manifests" / f"unsaved{next(self._documents)}" / "mcp.yaml").as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def findings(self, uri: str) -> list[dict[str, Any]]:
        """What the server says about an open text by itself."""
        while uri not in self._findings:
            self._take()
        return self._findings[uri]

    def ask(self, method: str, params: Any) -> Any:
        """Send a request and wait for its result."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._take()
            if message.get("id") == number and "method" not in message:
                return message.get("result")

    def _take(self) -> dict[str, Any]:
        """The next message, after what the server asks or tells by itself has been seen to."""
        message = self._answers.get(timeout=SECONDS)
        if message is None:
            raise ConnectionError("the server has gone")
        if message.get("method") == "textDocument/publishDiagnostics":
            self._findings[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            items = (message.get("params") or {}).get("items", ())
            answer = [SETTINGS.get(item.get("section"), {}) for item in items]
            self._send({"id": message["id"], "result": answer if items else None})
        return message

    def _tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")
        self._stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._stdin.flush()

    def _read(self, stream: IO[bytes]) -> None:
        while head := stream.readline():
            size = int(head.partition(b":")[2])
            while stream.readline().strip():
                pass
            self._answers.put(json.loads(stream.read(size)))
        self._answers.put(None)


def check(server: Server) -> Iterator[tuple[str, str]]:
    """Everything that is looked at, each with what is wrong about it, if anything."""
    for path in sorted(ROOT.glob("manifests/*/mcp.yaml")):
        found = server.findings(server.open(path.read_text(encoding="utf-8"), path.as_uri()))
        yield f"{path.relative_to(ROOT)} has no findings", "; ".join(_said(finding) for finding in found)
    for wanted in COMPLETIONS:
        yield f"completion in {wanted.place}", _completion(server, wanted)
    for hover in HOVERS:
        yield f"hover on {'.'.join(filter(None, (hover.section, hover.key)))}", _hover(server, hover)
    found = server.findings(server.open(FAULTS[0].text, (ROOT / "by-name" / "mcp.yaml").as_uri()))
    yield "a schema chosen by the file's name", "" if found else "no findings"
    for fault in FAULTS:
        yield f"finding: {fault.message}", _fault(server, fault)


def _completion(server: Server, wanted: Completion) -> str:
    reply = server.ask("textDocument/completion", _cursor(server, wanted.text))
    labels = {item["label"] for item in (reply["items"] if isinstance(reply, dict) else reply or ())}
    missing, unwanted = set(wanted.offered.split()) - labels, set(wanted.hidden.split()) & labels
    wrong = [f"not offered: {', '.join(sorted(missing))}"] if missing else []
    wrong += [f"offered: {', '.join(sorted(unwanted))}"] if unwanted else []
    return "; ".join(wrong) and f"{'; '.join(wrong)}; all: {', '.join(sorted(labels))}"


def _hover(server: Server, hover: Hover) -> str:
    reply = server.ask("textDocument/hover", _cursor(server, hover.text))
    shown = reply["contents"]["value"] if reply else ""
    section = SCHEMA["$defs"][hover.section] if hover.section else SCHEMA
    description = section["properties"][hover.key]["description"]
    # The server escapes what Markdown would take for its own.
    return "" if description in shown.replace("\\", "") else f"shown: {shown!r}"


def _fault(server: Server, fault: Fault) -> str:
    found = server.findings(server.open(MODELINE + fault.text))
    said = [_said(finding) for finding in found]
    hits = [text for text in said if text.startswith(f"{fault.line + 1}:") and fault.message in text]
    return "" if hits else f"wanted line {fault.line + 1}; found: {'; '.join(said) or 'nothing'}"


def _cursor(server: Server, text: str) -> dict[str, Any]:
    """The position of the text's cursor, once the text is open."""
    before, _, after = (MODELINE + text).rpartition(CURSOR)
    uri = server.open(before + after)
    line, _, column = before.rpartition("\n")
    place = {"line": line.count("\n") + 1, "character": len(column)}
    return {"textDocument": {"uri": uri}, "position": place}


def _said(finding: dict[str, Any]) -> str:
    return f"{finding['range']['start']['line'] + 1}: {finding['message']}"


def find_command() -> list[str] | None:
    """How the server is started; None where there is none."""
    if found := shutil.which("yaml-language-server"):
        return [found, "--stdio"]
    npx = shutil.which("npx")
    if npx is None:
        return None
    # Two that bring it at once would spoil the folder that npx shares among them.
    with (Path(tempfile.gettempdir()) / "editor-check.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = [npx, "--yes", "--fetch-retries=0", "--package", PINNED, "--", "node", "--eval", ""]
        brought = subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    return None if brought.returncode else [npx, "--yes", PINNED, "--stdio"]


@contextmanager
def running(command: list[str]) -> Iterator[Server]:
    """The server, until the block ends."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT) as process:  # noqa: S603
        try:
            yield Server(process)
        finally:
            assert process.stdin
            process.stdin.close()
            process.terminate()


def main() -> int:
    """Check, print every result, and tell the exit code."""
    command = find_command()
    if command is None:
        print("there is no yaml-language-server, and npx cannot bring it", file=sys.stderr)
        return 2
    with running(command) as server:
        print(f"yaml-language-server {server.greet()}".rstrip())
        wrong = 0
        for fact, trouble in check(server):
            wrong += bool(trouble)
            print(f"FAILED {fact}: {trouble}" if trouble else f"ok     {fact}", flush=True)
    print(f"{wrong} failed" if wrong else "all hold")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
