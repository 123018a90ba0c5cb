"""The plan: manifest, instance, routes and specs merged into every decision, with its reason and place."""

from __future__ import annotations

from gym_mcp_manifest.plan.build import build_plan
from gym_mcp_manifest.plan.inputs import PlanInputs
from gym_mcp_manifest.plan.records import Excluded, ExposurePlan, Refused, Tool

__all__ = ["Excluded", "ExposurePlan", "PlanInputs", "Refused", "Tool", "build_plan"]
