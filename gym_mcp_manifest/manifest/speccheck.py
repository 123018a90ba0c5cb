"""What can be told of tools without any app: data, schemas, names, arguments, and how clients take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gym_mcp_manifest.diagnostics import Diagnostic
from gym_mcp_manifest.manifest.arguments import argument_findings, tailored_schema
from gym_mcp_manifest.manifest.lint import AdvertisedTool, tool_lint
from gym_mcp_manifest.manifest.loader import Manifest
from gym_mcp_manifest.manifest.schemas import PERMISSIVE, reply_findings, schema_findings, written_out
from gym_mcp_manifest.manifest.specs import SpecSet, gather_specs
from gym_mcp_manifest.manifest.tailoring import Tailoring, tailorings
from gym_mcp_manifest.manifest.toolnames import name_findings
from gym_mcp_manifest.manifest.toolspec import ToolSpec

__all__ = ["check_specs"]


def check_specs(manifest: Manifest, folder: Path | None = None) -> Iterator[Diagnostic]:
    """Findings about the data that a manifest names and the tools that they describe; no code is run."""
    specs = gather_specs(manifest, folder)
    yield from specs.found
    yield from _written_schemas(manifest, specs)
    for overlay in specs.overlays:
        for spec in overlay.specs:
            yield from _spec_schemas(spec)
    told = []
    own_names = frozenset(spec.name for entry in specs.catch_all for spec in entry)
    for index, entry in enumerate(specs.catch_all):
        route = manifest.language.catch_all[index].route or f"catch_all[{index}]"
        for spec in entry:
            tailoring = tailorings(manifest, spec.name, "", own_names)
            schema = _schema(spec, tailoring, specs)
            found = (*_spec_schemas(spec), *_names(spec, tailoring, f"POST {route}"))
            yield from found
            if schema is not None and not found:
                yield from argument_findings(spec.name, schema, schema, tailoring)
                told.append(_advertised(spec, tailoring, schema, specs))
    yield from tool_lint(told, manifest.places.span(("catch_all",), key=True))


def _spec_schemas(spec: ToolSpec) -> Iterator[Diagnostic]:
    if spec.input_schema is not None:
        yield from schema_findings(spec.name, spec.input_schema, spec.span, spec.schema_places.get("input_schema"))
    if spec.output_schema is not None:
        yield from reply_findings(
            spec.name, spec.output_schema, spec.span, spec.schema_places.get("output_schema")
        )


def _written_schemas(manifest: Manifest, specs: SpecSet) -> Iterator[Diagnostic]:
    for key, tool in manifest.language.tools.items():
        for name, findings in (("input_schema", schema_findings), ("output_schema", reply_findings)):
            written = getattr(tool, name)
            schema = specs.schemas.get((key, name)) if isinstance(written, str) else written
            if isinstance(schema, Mapping):
                places = specs.places_of_written(manifest.places, key, name)
                yield from findings(key, schema, manifest.places.span(("tools", key, name)), places)


def _names(spec: ToolSpec, tailoring: Tailoring, route: str) -> Iterator[Diagnostic]:
    name = tailoring.get("name") or spec.name
    return name_findings(name, spec.name, route, tailoring.span("name") or spec.span)


def _schema(spec: ToolSpec, tailoring: Tailoring, specs: SpecSet) -> Mapping[str, Any] | None:
    """The tool's schema; None where its file has a finding of its own."""
    written = tailoring.get("input_schema")
    if isinstance(written, str):
        held = specs.schemas.get((tailoring.keys[("input_schema",)], "input_schema"))
        return written_out(held) if held is not None else None
    if isinstance(written, Mapping):
        return written_out(written)
    return written_out(spec.input_schema) if spec.input_schema is not None else PERMISSIVE


def _advertised(spec: ToolSpec, tailoring: Tailoring, schema: Mapping[str, Any], specs: SpecSet) -> AdvertisedTool:
    description = tailoring.get("description")
    key = tailoring.keys.get(("input_schema",))
    written = specs.places_of_written(tailoring.places, key, "input_schema") if key else None
    return AdvertisedTool(
        name=tailoring.get("name") or spec.name,
        description=description if description is not None else spec.description,
        input_schema=tailored_schema(schema, schema, tailoring),
        span=spec.span,
        named_at=spec.named_at,
        schema_span=tailoring.span("input_schema"),
        schema_places=written or spec.schema_places.get("input_schema"),
        of_dispatcher=True,
    )
