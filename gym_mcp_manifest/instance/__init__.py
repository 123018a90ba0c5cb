"""The instance's configuration: whether exposure is on, for which server, with which secrets and changes.

The only stage that knows OmegaConf and Hydra. Only our keys of the chosen instance's block are resolved, so that
unresolved values elsewhere in a shared configuration are nobody's concern here.
"""

from __future__ import annotations

from gym_mcp_manifest.instance.block import BlockInvalid, Instance, instance_from_block
from gym_mcp_manifest.instance.config import read_instance
from gym_mcp_manifest.instance.overrides import key_of

__all__ = ["BlockInvalid", "Instance", "instance_from_block", "key_of", "read_instance"]
