"""Transfers between two meshes: which device sends which box of a tensor to which other device.

A destination shard is split by the source shards that it overlaps.  What a device already holds it
keeps; every other piece crosses once, from one device that holds it, so no plan of point-to-point
messages moves fewer bytes or has fewer pieces.  Where several devices hold the same source shard,
each piece gets one of them so that the busiest sends as little as can be.  No MLIR here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import blocks
from pcg.reshard.steps import ReshardError

Box = tuple[tuple[int, int], ...]
#: Assignments of pieces to equal senders that are tried at most.  A choice: some tens of milliseconds.
_TRIES = 20_000


@dataclass(frozen=True)
class TransferPiece:
    """A box of the tensor (`start` <= index < `stop`) that logical device `sender` gives to `receiver`.

    `source` and `target` are where the box starts in the sender's and in the receiver's shard.
    """

    sender: int
    receiver: int
    start: tuple[int, ...]
    stop: tuple[int, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements in the box."""
        return math.prod(b - a for a, b in zip(self.start, self.stop, strict=True))


@dataclass(frozen=True)
class CrossPlan:
    """A transfer: `pieces` cross between devices, `kept` stay where they are (sender == receiver)."""

    pieces: tuple[TransferPiece, ...]
    kept: tuple[TransferPiece, ...]
    itemsize: float

    @property
    def bytes(self) -> float:
        """Bytes that cross between devices."""
        return sum(p.elements for p in self.pieces) * self.itemsize

    @cached_property
    def wire_bytes_by_sender(self) -> dict[int, float]:
        """Bytes by sending device."""
        return self._by(p.sender for p in self.pieces)

    @cached_property
    def wire_bytes_by_receiver(self) -> dict[int, float]:
        """Bytes by receiving device."""
        return self._by(p.receiver for p in self.pieces)

    def _by(self, devices: Iterable[int]) -> dict[int, float]:
        out: dict[int, float] = {}
        for device, piece in zip(devices, self.pieces, strict=True):
            out[device] = out.get(device, 0) + piece.elements * self.itemsize
        return out


def cross_mesh_plan(
    src: ShardSpec, src_mesh: Mesh, dst: ShardSpec, dst_mesh: Mesh, shape: Sequence[int], itemsize: float
) -> CrossPlan:
    """Move a tensor of global `shape` from layout `src` on `src_mesh` to layout `dst` on `dst_mesh`.

    The meshes may share devices (the same logical ids).  A dimension that its shard count does not divide is split
    as `pcg.layout.uneven` says; padding does not travel.

    Raises:
      ReshardError: the ranks differ, or a layout is partial (reduce it on its own mesh first).
      SpecError: a layout does not belong to its mesh.
    """
    for spec, mesh, side in ((src, src_mesh, "source"), (dst, dst_mesh, "destination")):
        if spec.rank != len(shape):
            raise ReshardError(f"{side} layout {spec} has {spec.rank} dimensions, the tensor has {len(shape)}")
        spec.check(mesh)
        if spec.partial:
            raise ReshardError(f"{side} layout {spec} is partial; allowed across meshes: reduced values")
    holders: dict[Box, list[int]] = {}
    held: dict[int, Box] = {}
    for device, box in shards(src, src_mesh, shape):
        held[device] = box
        holders.setdefault(box, []).append(device)
    boxes = [sorted({box[d] for box in holders}) for d in range(len(shape))]
    kept: list[TransferPiece] = []
    wanted: dict[Box, list[tuple[int, Box, Box]]] = {}
    for device, box in shards(dst, dst_mesh, shape):
        near = [[b for b in boxes[d] if max(b[0], box[d][0]) < min(b[1], box[d][1])] for d in range(len(shape))]
        for from_ in itertools.product(*near):
            piece_box = tuple((max(a[0], b[0]), min(a[1], b[1])) for a, b in zip(from_, box, strict=True))
            if held.get(device) == from_:
                kept.append(_transfer_piece(device, device, piece_box, from_, box))
            else:
                wanted.setdefault(from_, []).append((device, piece_box, box))
    pieces = []
    for from_, wants in wanted.items():
        loads = [math.prod(b - a for a, b in piece_box) for _, piece_box, _ in wants]
        for (device, piece_box, box), k in zip(wants, assign_senders(loads, len(holders[from_])), strict=True):
            pieces.append(_transfer_piece(holders[from_][k], device, piece_box, from_, box))
    pieces.sort(key=lambda p: (p.receiver, p.start))
    return CrossPlan(tuple(pieces), tuple(kept), itemsize)


def same_split(spec: ShardSpec, src_mesh: Mesh, dst_mesh: Mesh) -> ShardSpec | None:
    """The layout on `dst_mesh` that splits each dimension into as many shards as `spec`; None if there is none.

    Axes of the same name and size are used where there are any.
    """
    free = dict(dst_mesh.axes)
    dims: list[tuple[str, ...]] = []
    for axes in spec.dims:
        count = src_mesh.axes_size(axes)
        if all(free.get(a) == src_mesh.axis_size(a) for a in axes):
            found: tuple[str, ...] | None = axes
        else:
            some = (c for n in range(1, len(free) + 1) for c in itertools.combinations(free, n))
            found = next((c for c in some if count > 1 and math.prod(free[a] for a in c) == count), None)
        if found is None:
            return None
        dims.append(found)
        free = {a: n for a, n in free.items() if a not in found}
    return ShardSpec(tuple(dims))


def shards(spec: ShardSpec, mesh: Mesh, shape: Sequence[int]) -> list[tuple[int, Box]]:
    """(logical device, box it holds) per position of `mesh`; where a dimension does not divide, without padding."""
    splits = [blocks(size, axes, mesh) for size, axes in zip(shape, spec.dims, strict=True)]
    out = []
    for position, device in enumerate(mesh.device_ids or range(mesh.size)):
        here = [(min(split[position][0], size), split[position][1]) for split, size in zip(splits, shape, strict=True)]
        out.append((device, tuple((start, start + count) for start, count in here)))
    return out


def assign_senders(loads: Sequence[int], senders: int) -> list[int]:
    """A sender for each load so that the busiest sends least.

    Largest first to the least busy sender, then improved by branch and bound; exact unless that takes
    more than `_TRIES` tries, and never more than 4/3 of the least.
    """
    order = sorted(range(len(loads)), key=lambda i: -loads[i])
    busy = [0] * senders
    best = [0] * len(loads)
    for i in order:
        best[i] = min(range(senders), key=busy.__getitem__)
        busy[best[i]] += loads[i]
    bound = max(-(-sum(loads) // senders), max(loads, default=0))
    tries, top = 0, max(busy)
    if top <= bound:
        return best
    now, busy = list(best), [0] * senders

    def search(at: int) -> bool:
        """Whether to stop: the bound is met or the tries are used up."""
        nonlocal tries, top, best
        tries += 1
        if at == len(order):
            top, best = max(busy), list(now)
            return top <= bound
        load = loads[order[at]]
        for sender in sorted(range(senders), key=busy.__getitem__):
            if busy[sender] + load >= top or busy[sender] in [busy[s] for s in range(sender)]:
                continue  # no better than what is known, or the same as a sender tried before
            now[order[at]] = sender
            busy[sender] += load
            stop = search(at + 1)
            busy[sender] -= load
            if stop or tries > _TRIES:
                return True
        return False

    search(0)
    return best


def _transfer_piece(sender: int, receiver: int, piece_box: Box, from_: Box, to: Box) -> TransferPiece:
    return TransferPiece(
        sender, receiver, tuple(a for a, _ in piece_box), tuple(b for _, b in piece_box),
        tuple(c[0] - f[0] for c, f in zip(piece_box, from_, strict=True)),
        tuple(c[0] - t[0] for c, t in zip(piece_box, to, strict=True)),
    )
