"""Synthetic steps of pipelines: a chain of stages with a tied parameter, as a training step has them."""

from __future__ import annotations

from pcg.pipeline.problem import Pipeline
from pcg.pipeline.step import Buffer, Fragment, Step, Transfer


def training_step(
    p: Pipeline, split: bool = True, donate: bool = True, tied: bool = True, prepare: bool = True, skip: bool = False,
    norm: bool = False,
) -> Step:
    """Every stage: F of the activation before it, B of the gradient behind it, W into a sum, one update.

    The last stage reads labels, which are on device 0, and adds up a loss.  A tied parameter goes from device 0 to the
    last stage, and its gradient back, where these are two devices.  Sizes are different powers of two, so that a sum of
    them says what is in it.  With `skip` F of a stage reads the activation of the stage before the one before it, too; with
    `norm` updates wait for a sum of all gradients on device 0.
    """
    last = p.stages - 1
    buffers: list[Buffer] = []
    fragments: list[Fragment] = []
    transfers: list[Transfer] = []
    arguments: list[str] = []
    results: list[str] = []

    def buffer(name: str, device: int, size: int, varying: bool = True) -> str:
        buffers.append(Buffer(name, device, size, varying))
        return name

    def there(name: str, device: int) -> str:
        """A buffer, or its copy on another device."""
        source = next(b for b in buffers if b.name == name)
        if source.device == device:
            return name
        copy = f"{name}@{device}"
        if all(b.name != copy for b in buffers):
            transfers.append(Transfer(name, buffer(copy, device, source.bytes, source.varying)))
        return copy

    def argument(name: str, device: int, size: int, varying: bool = False) -> str:
        arguments.append(buffer(name, device, size, varying))
        return name

    argument("tokens", p.device[0], 1, True)
    argument("labels", p.device[0], 2, True)
    tie = argument("embedding", p.device[0], 1 << 10) if tied else None
    for s, d in enumerate(p.device):
        argument(f"parameter{s}", d, 1 << 8)
        argument(f"state{s}", d, 1 << 9)
    ready = {}
    for s, d in enumerate(p.device):
        if prepare:
            ready[s] = buffer(f"cast{s}", d, 1 << 7, False)
            fragments.append(Fragment(f"prepare{s}", "prepare", s, d, (f"parameter{s}",), (ready[s],)))
        else:
            ready[s] = f"parameter{s}"
    for s, d in enumerate(p.device):
        x = there(f"y{s - 1}" if s else "tokens", d)
        extra = (there("labels", d),) if s == last else ()
        if tie and s in (0, last):
            extra = (*extra, there(tie, d))
        if skip and s > 1:
            extra = (*extra, there(f"y{s - 2}", d))
        writes = [buffer(f"kept{s}", d, 1 << 5)]
        if s < last:
            writes.append(buffer(f"y{s}", d, 1 << 4))
        sums = (buffer("loss", d, 4, False),) if s == last else ()
        fragments.append(Fragment(f"F{s}", "F", s, d, (x, ready[s], *extra), tuple(writes), sums, workspace=1 << 11))
    for s in reversed(range(p.stages)):
        d = p.device[s]
        reads = (ready[s], f"kept{s}", *((there(f"dx{s + 1}", d),) if s < last else ()))
        dx = (buffer(f"dx{s}", d, 1 << 3),) if s else ()
        sums = (buffer(f"gradient{s}", d, 1 << 8, False),)
        if tie and s in (0, last):
            sums = (*sums, buffer(f"tied{s}", d, 1 << 10, False))
        if split:
            rest = buffer(f"rest{s}", d, 1 << 6)
            fragments.append(Fragment(f"B{s}", "B", s, d, reads, (*dx, rest), workspace=1 << 12))
            fragments.append(Fragment(f"W{s}", "W", s, d, (rest,), (), sums, workspace=1 << 13))
        else:
            fragments.append(Fragment(f"BW{s}", "BW", s, d, reads, dx, sums, workspace=1 << 12))
    if norm:
        for s, d in enumerate(p.device):
            fragments.append(Fragment(f"norm{s}", "update", s, d, (f"gradient{s}",), (buffer(f"norm{s}", d, 4, False),)))
        norms = tuple(there(f"norm{s}", p.device[0]) for s in range(p.stages))
        fragments.append(Fragment("total", "update", 0, p.device[0], norms, (buffer("total", p.device[0], 4, False),)))
    for s, d in enumerate(p.device):
        old, new = (f"parameter{s}", f"state{s}"), (buffer(f"parameter{s}'", d, 1 << 8, False), buffer(f"state{s}'", d, 1 << 9, False))
        reads, over = (*old, f"gradient{s}"), tuple(zip(old, new, strict=True))
        results += new
        if norm:
            reads = (*reads, there("total", d))
        if tie and s == 0:
            tied_gradients = ("tied0",) if last == 0 else ("tied0", there(f"tied{last}", d))
            reads = (*reads, tie, *tied_gradients)
            new = (*new, buffer("embedding'", d, 1 << 10, False))
            over = (*over, (tie, "embedding'"))
            results.append("embedding'")
        fragments.append(Fragment(f"update{s}", "update", s, d, reads, new, aliases=over if donate else ()))
    results.append("loss")
    donated = tuple(a for a in arguments if a != "labels") if donate else ()
    return Step(
        p.microbatches, p.devices, tuple(buffers), tuple(fragments), tuple(transfers), tuple(arguments), donated,
        tuple(results),
    )  # fmt: skip
