"""Manifests with one to three faults put in by chance, and what the reader makes of them.

Run as a program it prints, as JSON, every mutant that is not answered well, and the peak of the memory in MB:

    python tests/mutations.py COUNT SEED
"""

import io
import json
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from casebook import CASES

from gym_mcp_manifest.cli.validate import run_validate
from gym_mcp_manifest.manifest.source import decode_source
from gym_mcp_manifest.manifest.yamldoc import parse_document

#: Seconds of this process's own time that a mutant may take.
PATIENCE = 10
VALUES = (
    *(
        "null",
        "~",
        "",
        "[]",
        "{}",
        "0",
        "-1",
        "08",
        "1e999",
        "true",
        "no",
        "2026-11-30",
        "12:30",
        "'",
        '"',
        "x" * 5000,
    ),
    *("[[]]", "{a: {b: [1]}}", "!!str x", "!tag", "*nobody", "&a [*a]", "<<", "? x", "- -", "|", ">-", "9" * 5000),
    *(
        "/{",
        "[a].b",
        "a[",
        "${x}",
        "../x.json",
        "/etc/passwd",
        "data/*.json",
        "**",
        "\\",
        "@",
        "`",
        "\ud83d\ude00",
    ),
)
BYTES = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b"\r",
    b"\t",
    b"\x1b",
    b"\n",
)

Mutator = Callable[[bytes, random.Random], bytes]


def flip_bytes(content: bytes, chance: random.Random) -> bytes:
    held = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        held[chance.randrange(len(held))] = chance.randrange(256)
    return bytes(held)


def insert_bytes(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    return content[:at] + chance.choice(BYTES) * chance.randint(1, 3) + content[at:]


def cut_off(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def delete_part(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    return content[:at] + content[at + chance.randint(1, 30) :]


def repeat_part(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content))
    part = content[at : at + chance.randint(1, 60)]
    return content[:at] + part * chance.choice((2, 3, 200)) + content[at + len(part) :]


def repeat_line(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"".join(lines)


def swap_lines(content: bytes, chance: random.Random) -> bytes:
    return _swapped(content.splitlines(keepends=True), chance)


def swap_words(content: bytes, chance: random.Random) -> bytes:
    return _swapped(re.split(rb"(\s+)", content), chance)


def rename_key(content: bytes, chance: random.Random) -> bytes:
    def misspell(key: bytes) -> bytes:
        at = chance.randrange(len(key))
        return chance.choice((key[:at] + key[at + 1 :], key[:at] + b"x" + key[at:], key[::-1], key + b"_add"))

    return _changed(rb"[\w-]+(?=:)", misspell, content, chance)


def change_value(content: bytes, chance: random.Random) -> bytes:
    return _changed(rb"(?<=: )[^\n]+", lambda _: _value(chance), content, chance)


def change_word(content: bytes, chance: random.Random) -> bytes:
    return _changed(rb"[\w./*-]+", lambda _: _value(chance), content, chance)


def indent(content: bytes, chance: random.Random) -> bytes:
    white = chance.choice((b" ", b"  ", b"\t", b"    "))
    return _changed(rb"(?m)^ *(?=\S)", lambda old: chance.choice((old + white, old[:-1], b"")), content, chance)


def alias_values(content: bytes, chance: random.Random) -> bytes:
    anchored = _changed(rb"(?<=: )(?=\S)", lambda _: b"&here ", content, chance)
    return _changed(rb"(?<=: )[^\n&]+", lambda _: b"*here", anchored, chance)


def add_bomb(content: bytes, chance: random.Random) -> bytes:
    width, depth = chance.choice((2, 9, 50)), chance.choice((3, 9, 40))
    lines = [b"x-0: &b0 [lol]"]
    lines += [b"x-%d: &b%d [%s]" % (n, n, b", ".join([b"*b%d" % (n - 1)] * width)) for n in range(1, depth)]
    return content + b"\n" + b"\n".join(lines) + b"\n"


def nest_deeply(content: bytes, chance: random.Random) -> bytes:
    deep = chance.choice((10, 63, 64, 65, 1_000, 20_000))
    left, right = chance.choice(((b"[", b"]"), (b"{a: ", b"}"), (b"- ", b""), (b"[", b""), (b"? ", b"")))
    return _changed(rb"(?<=: )[^\n]+", lambda old: left * deep + old + right * deep, content, chance)


MUTATORS: tuple[Mutator, ...] = (
    *(flip_bytes, insert_bytes, cut_off, delete_part, repeat_part, repeat_line, swap_lines, swap_words),
    *(rename_key, change_value, change_word, indent, alias_values, add_bomb, nest_deeply),
)


def _value(chance: random.Random) -> bytes:
    return chance.choice(VALUES).encode("utf-8", "surrogatepass")


def _swapped(parts: list[bytes], chance: random.Random) -> bytes:
    one, other = chance.randrange(len(parts)), chance.randrange(len(parts))
    parts[one], parts[other] = parts[other], parts[one]
    return b"".join(parts)


def _changed(pattern: bytes, change: Callable[[bytes], bytes], content: bytes, chance: random.Random) -> bytes:
    matches = list(re.finditer(pattern, content))
    if not matches:
        return content
    match = chance.choice(matches)
    return content[: match.start()] + change(match[0]) + content[match.end() :]


def mutate(content: bytes, chance: random.Random) -> bytes:
    """The content with one to three faults."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(MUTATORS)(content or b"x", chance)
    return content


def complaint(name: str, content: bytes) -> str | None:
    """What is wrong with the answer about the manifest in this folder; None where nothing is.

    `name` and `content` are of the file that was changed, which may be one of the data files.
    """
    _printed("text")
    code, answer = _printed("json")
    errors = [finding for finding in json.loads(answer)["findings"] if finding["severity"] == "error"]
    if code != int(bool(errors)):
        return f"exit code {code} with {len(errors)} errors"
    # A manifest that cannot be opened, or is too large, has no line; of data it is the line that names them.
    places = [(e, [(e["file"], e["line"]), *((r["file"], r["line"]) for r in e["related"])]) for e in errors]
    lost = [e for e, shown in places if not any(map(all, shown)) and e["code"] not in ("GMM101", "GMM104")]
    if lost:
        return f"an error without a place: {lost[0]}"
    source, _ = decode_source(name, content)
    if source is not None and name.endswith((".yaml", ".yml")):
        fast, slow = parse_document(source), parse_document(source, loader="python")
        if (repr(fast[0] and fast[0].data), fast[1]) != (repr(slow[0] and slow[0].data), slow[1]):
            return "the two readers of YAML differ"
    return None


def _printed(output: Any) -> tuple[int, str]:
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(io.StringIO()):
        code = run_validate(["mcp.yaml"], output, strict=False, data=None)
    return code, said.getvalue()


def run(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Every mutant of `count` that is not answered well."""
    folders = [folder for folder in sorted((CASES / "ok").iterdir()) if (folder / "mcp.yaml").exists()]
    signal.signal(signal.SIGVTALRM, _too_long)
    with tempfile.TemporaryDirectory() as parent:
        for number in range(count):
            chance = random.Random(f"{seed}/{number}")
            folder, work = chance.choice(folders), Path(parent) / "case"
            shutil.copytree(folder, work, ignore=shutil.ignore_patterns("*.py", "*.txt", "__pycache__"))
            data = [path for path in sorted(work.rglob("*")) if path.is_file() and path.name != "mcp.yaml"]
            path = chance.choice(data) if data and chance.random() < 0.2 else work / "mcp.yaml"
            path.write_bytes(content := mutate(path.read_bytes(), chance))
            with chdir(work):
                problem = _guarded(path.relative_to(work).as_posix(), content)
            if problem:
                yield {"number": number, "case": folder.name, "problem": problem, "content": repr(content[:3000])}
            shutil.rmtree(work)


def _guarded(name: str, content: bytes) -> str | None:
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        return complaint(name, content)
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} s")


def peak_megabytes() -> int:
    """The most memory that this program has had: a child's `ru_maxrss` counts what its parent had, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Print what went wrong."""
    count, seed = map(int, sys.argv[1:])
    faults = list(run(count, seed))
    peak = peak_megabytes()
    json.dump({"faults": faults, "peak": peak}, sys.stdout)


if __name__ == "__main__":
    main()
