"""Groups of devices, each with a mesh of its own: what the stages of a pipeline run on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pcg.layout.mesh import Mesh, MeshError


def one_after_another(meshes: Sequence[Mesh], device_ids: Sequence[int] = ()) -> tuple[Mesh, ...]:
    """The meshes as groups of devices: those that name no devices have the first ones that no other names.

    Args:
      meshes: of the groups, in order.
      device_ids: the devices that are there, in order; empty: 0, 1, ...

    Raises:
      MeshError: there are no meshes, or two name the same device.
    """
    if not meshes:
        raise MeshError("no groups of devices; allowed: one mesh or more")
    owner: dict[int, int] = {}
    for g, mesh in enumerate(meshes):
        for device in mesh.device_ids or ():
            if device in owner:
                raise MeshError(f"device {device} is in groups {owner[device]} and {g}; allowed: in one")
            owner[device] = g
    free = iter(d for d in device_ids or range(sum(m.size for m in meshes)) if d not in owner)
    return tuple(m if m.device_ids else Mesh(m.axes, tuple(itertools.islice(free, m.size))) for m in meshes)


def groups_text(meshes: Sequence[Mesh]) -> str:
    """As `4 groups of data=2`, or `3 groups: data=4; 2 x data=2`."""
    texts = [str(m) for m in meshes]
    count = f"{len(texts)} group" + ("s" if len(texts) > 1 else "")
    if len(set(texts)) == 1:
        return f"{count} of {texts[0]}"
    runs = [(text, len(list(own))) for text, own in itertools.groupby(texts)]
    return f"{count}: " + "; ".join(text if n == 1 else f"{n} x {text}" for text, n in runs)
