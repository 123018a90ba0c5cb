"""The ways in which a tool call can fail. Each knows the HTTP status that says so."""


class ToolError(Exception):
    """A call that was answered with an error instead of a result."""

    status: int

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class UnknownTool(ToolError):
    """There is no tool of this name."""

    status = 404


class RecordNotFound(ToolError):
    """The call names a record that does not exist."""

    status = 404


class InvalidArguments(ToolError):
    """The arguments do not fit the tool."""

    status = 422
