"""Which device has which stages of a pipeline."""

from __future__ import annotations

from pcg.pipeline.errors import PipelineError

#: Ways to lay several stages on a device.
FORMS = ("linear", "interleaved", "v")


def placement(form: str, devices: int, chunks: int) -> tuple[int, ...]:
    """The device of each of `devices * chunks` stages.

    linear       0 1 2 3              one stage a device
    interleaved  0 1 2 3 0 1 2 3      every chunk begins at device 0 (Narayanan et al., 2021)
    v            0 1 2 3 3 2 1 0      every second chunk runs back, so no transfer where it does (Qi et al., 2024)
    """
    if form not in FORMS:
        raise PipelineError(f"placement {form!r}; allowed: {', '.join(FORMS)}")
    if devices < 1 or chunks < 1:
        raise PipelineError(f"{devices} devices with {chunks} chunks each; allowed: 1 or more of both")
    if form == "linear" and chunks > 1:
        raise PipelineError(f"a linear placement of {chunks} chunks per device; allowed: 1, or interleaved or v")
    found: list[int] = []
    for chunk in range(chunks):
        row = range(devices)
        found += reversed(row) if form == "v" and chunk % 2 else row
    return tuple(found)
