"""Meshes, axes and shard specs: how a tensor is laid out over devices.  No MLIR here."""

from pcg.layout.mesh import Mesh, MeshError
from pcg.layout.spec import ShardSpec, SpecError

__all__ = ["Mesh", "MeshError", "ShardSpec", "SpecError"]
