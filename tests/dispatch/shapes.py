"""All shapes of routes, in the order of the documentation."""

import guardshapes
import replyshapes
import requestshapes
from shapebook import GROUPS, MODES, SHAPES, Case, Mode, Shape

__all__ = ["GROUPS", "MODES", "SHAPES", "Case", "Mode", "Shape"]

# Imported for the shapes that they add.
assert requestshapes and guardshapes and replyshapes
