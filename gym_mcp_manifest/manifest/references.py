"""References to Python objects, as the manifest spells them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RUNNING", "ObjectReference"]

#: What stands before the colon for an object that runs already, instead of a module.
RUNNING = ("app", "server")


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """`pkg.module:attr`, or `app:attr` and `server:attr` for the running objects; attributes may be dotted."""

    holder: str
    attribute: str

    @classmethod
    def parse(cls, text: str) -> ObjectReference:
        """Read a reference; ValueError says what is wrong with it."""
        holder, colon, attribute = text.partition(":")
        if not colon:
            module, _, last = text.rpartition(".")
            cure = f"; write `{module}:{last}`" if module and _is_dotted(text) else ""
            raise ValueError(f"a reference is `module:attribute`{cure}")
        for part, name in ((holder, "module"), (attribute, "attribute")):
            if not _is_dotted(part):
                raise ValueError(f"{part!r} is no dotted name of a {name}" if part else f"the {name} is missing")
        if holder.endswith(".py"):
            raise ValueError(
                f"a reference names a module, not its file: write `{holder.removesuffix('.py')}:{attribute}`"
            )
        return cls(holder, attribute)

    @property
    def is_running(self) -> bool:
        """Whether it names the running app or server rather than a module."""
        return self.holder in RUNNING

    def __str__(self) -> str:
        return f"{self.holder}:{self.attribute}"


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
