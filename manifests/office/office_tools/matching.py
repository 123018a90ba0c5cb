"""What searching means, the same in every toolkit."""

from typing import Annotated

from pydantic import Field

Limit = Annotated[int, Field(ge=1, le=50)]


def mentions(query: str, *texts: str) -> bool:
    """Whether every word of the query occurs in the texts, in any letter case. An empty query always does."""
    haystack = "\n".join(texts).casefold()
    return all(word in haystack for word in query.casefold().split())


def is_between(day: str, first: str | None, last: str | None) -> bool:
    """Whether a day, or a moment's day, lies in the range. Both ends belong to it; a missing one is open."""
    return (first is None or day[:10] >= first) and (last is None or day[:10] <= last)
