"""Tool specs in a server's data files: which file and which expression give the most tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from gym_mcp_manifest.draft.records import Entry, Source
from gym_mcp_manifest.manifest.loader import manifest_from_mapping
from gym_mcp_manifest.manifest.specs import gather_specs

__all__ = ["find_source"]

#: Where specs stand: a spec file's own lists, the rows of a dataset, a file that is nothing but specs.
_OF_ROWS = "responses_create_params.tools[]"
_SELECTS = ("tools[]", _OF_ROWS, None)
_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")
_MAX_FILES, _MAX_BYTES = 500, 32 * 1024 * 1024


def find_source(folder: Path, route: str, typed: Collection[str]) -> Source | None:
    """The source of the dispatcher `route` with the most tools; None where the data have none.

    `typed` holds the names of what is a tool already: specs of these are left out. A folder of alike files
    is one source by a glob. Reads only.
    """
    found = [source for written in _candidates(folder) if (source := _source(folder, route, written, typed))]
    return max(found, key=_worth, default=None)


def _worth(source: Source) -> tuple[int, bool]:
    """More tools are better; of two alike a file of specs is better than the rows of a dataset."""
    return len(source.names) - len(source.exclude), source.select != _OF_ROWS


def _candidates(folder: Path) -> Iterator[str]:
    """Files that may hold specs, then the globs over the folders that hold several: a glob must give more."""
    data = folder / "data"
    files = [path for path in sorted(data.rglob("*")) if _is_data(path)][:_MAX_FILES]
    beside = [path for path in sorted(folder.glob("*tools*")) if _is_data(path)]
    for path in (*beside, *files):
        yield path.relative_to(folder).as_posix()
    kinds = [(path.parent, path.suffix) for path in files]
    for parent, suffix in dict.fromkeys(kinds):
        if kinds.count((parent, suffix)) > 1:
            yield f"{parent.relative_to(folder).as_posix()}/*{suffix}"


def _is_data(path: Path) -> bool:
    try:
        return path.suffix in _SUFFIXES and path.is_file() and path.stat().st_size <= _MAX_BYTES
    except OSError:
        return False


def _source(folder: Path, route: str, written: str, typed: Collection[str]) -> Source | None:
    for select in _SELECTS:
        names = _names(folder, route, written, select)
        if names:
            known = tuple(Entry(name, "a tool by its own route") for name in names if name in typed)
            source = Source(file=written, select=select, names=tuple(names), exclude=known)
            return source if len(known) < len(names) else None
    return None


def _names(folder: Path, route: str, written: str, select: str | None) -> list[str]:
    """The names of the specs that the engine itself reads there; none where it has anything against them."""
    source = {"file": written, **({"select": select} if select else {})}
    manifest = manifest_from_mapping({"version": 1, "catch_all": [{"route": route, "tools": [source]}]}, folder)
    specs = gather_specs(manifest, folder)
    (found,) = specs.catch_all
    if specs.found or not any(spec.input_schema is not None for spec in found):
        return []
    return [spec.name for spec in found]
