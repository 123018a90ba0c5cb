"""The office's 27 tools: one module per toolkit, one function per tool."""

from collections.abc import Mapping

from office_errors import UnknownTool
from office_tables import OfficeTables
from pydantic import JsonValue

from .analytics import analytics
from .calendar import calendar
from .company_directory import company_directory
from .customer_relationship_manager import customer_relationship_manager
from .email import email
from .project_management import project_management
from .toolkit import Tool

TOOLKITS = (email, calendar, analytics, project_management, customer_relationship_manager, company_directory)
TOOLS: Mapping[str, Tool] = {tool.name: tool for toolkit in TOOLKITS for tool in toolkit.tools}


def call_tool(name: str, tables: OfficeTables, arguments: Mapping[str, object]) -> JsonValue:
    """Run a tool on these tables. Raises :class:`office_errors.ToolError`, and then has changed nothing."""
    tool = TOOLS.get(name)
    if tool is None:
        raise UnknownTool(f"There is no tool {name!r}.")
    return tool(tables, arguments)


__all__ = ["TOOLKITS", "TOOLS", "Tool", "call_tool"]
