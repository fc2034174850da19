"""What terms are enumerated: inputs, operators with their parameters, how many of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pcg.substitute.errors import TermError
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, type_of


@dataclass(frozen=True)
class Space:
    """Terms of up to `size` operators on these inputs.

    Inputs of one type may replace each other; their names say in which order they are used.
    """

    name: str
    inputs: tuple[tuple[str, TensorType], ...]
    operators: tuple[tuple[str, tuple[Parameter, ...]], ...]
    size: int
    elements: int = 64
    """Elements of a tensor, at most."""
    degree: int = 2
    """Devices of a tensor, at most."""

    ranks: tuple[tuple[str, int], ...] = ()
    """Operators that are for operands of one rank only."""
    image: int = 0
    """Height and width of images: what is smaller is a kernel, and no operator takes one for the other."""
    first: tuple[str, ...] = ()
    """Operators that are for inputs only, as constants of the type of an input."""

    def type_of(self, operator: str, parameters: tuple[Parameter, ...], operands: tuple[TensorType, ...]) -> TensorType:
        """The type of a term of this space.

        Raises:
          TermError: it is none: also a slice that is no half.
        """
        rank = dict(self.ranks).get(operator)
        if rank is not None and any(o.rank != rank for o in operands):
            raise TermError(f"{operator} of rank {operands[0].rank}; allowed: {rank}")
        if operator in ("conv", "pool_average", "pool_max", "enlarge"):
            images = [max(o.shape[3:], default=0) == self.image for o in operands]
            if images != {"conv": [True, False], "enlarge": [False]}.get(operator, [True]):
                shown = ", ".join(map(str, operands))
                raise TermError(f"{operator} of {shown}; allowed: images of {self.image}, kernels below")
        found = type_of(operator, parameters, operands)
        if operator == "slice" and operands[0].shape[int(parameters[0])] != 2 * int(parameters[2]):
            raise TermError(f"slice of {operands[0]}; allowed: halves")
        return found

    def of_size(self, size: int) -> Space:
        """The same with other sizes of terms."""
        return replace(self, size=size)


def _inputs(
    letter: str, count: int, shape: tuple[int, ...], degrees: tuple[int, ...] | None = None
) -> list[tuple[str, TensorType]]:
    return [(f"{letter}{i + 1}", TensorType.of(shape, degrees)) for i in range(count)]


def taso() -> Space:
    """The operators that TASO's generator has (SOSP'19, section 3): matrices, images, kernels, a number."""
    image, kernel = (1, 1, 2, 4, 4), (1, 2, 2, 3, 3)
    return Space(
        "taso",
        (
            *_inputs("x", 3, (1, 2, 4)), *_inputs("w", 3, (1, 4, 4)), *_inputs("i", 3, image), *_inputs("k", 3, kernel),
            *_inputs("h", 2, (1, 2, 2, 1, 3)), ("s1", TensorType.of(())),
        ),
        (
            ("matmul", ("none",)), ("matmul", ("relu",)), ("add", ()), ("mul", ()), ("scale", ()), ("unary", ("relu",)),
            ("transpose", (1, 2)), ("conv", (1, "same", "none")), ("conv", (1, "same", "relu")),
            ("pool_average", (3, 1, "same")), ("pool_max", (3, 1, "same")), ("enlarge", (3,)),
            ("concat", (1,)), ("concat", (2,)),
            *_halves(1, 1), *_halves(1, 2), *_halves(1, 4), *_halves(2, 2), *_halves(2, 4),
            ("identity", (4,)), ("conv_identity", (2, 3)), ("pool_kernel", (2, 3)), ("ones_like", ()),
        ),
        3, ranks=(("matmul", 3), ("transpose", 3)), image=4, first=("ones_like", "enlarge"),
    )  # fmt: skip


def unity() -> Space:
    """The operators of Unity's published rules, with degrees: layers, element-wise operators, and the parallel ones."""
    return Space(
        "unity",
        (
            *_inputs("x", 3, (1, 2, 4)), *_inputs("w", 3, (1, 4, 4)),
            *_inputs("p", 2, (2, 2, 4), (2, 1, 1)), *_inputs("q", 1, (2, 4, 4), (2, 1, 1)),
        ),
        (
            ("linear", ("none",)), ("linear", ("relu",)), ("add", ()), ("mul", ()), ("unary", ("relu",)),
            *((name, (axis,)) for name in ("concat",) for axis in (0, 1, 2)), *_halves(1, 2), *_halves(2, 4),
            *((name, (dim, 2)) for name in ("partition", "combine", "replicate", "reduce") for dim in (0, 1, 2)),
        ),
        3, degree=4,
    )  # fmt: skip


def products() -> Space:
    """Matrix products and element-wise operators with degrees: small enough for terms of four operators."""
    return Space(
        "products",
        (*_inputs("x", 3, (1, 2, 4)), *_inputs("w", 3, (1, 4, 4))),
        (
            ("matmul", ("none",)), ("add", ()), ("unary", ("relu",)),
            *((name, (dim, 2)) for name in ("partition", "combine", "replicate", "reduce") for dim in (0, 1, 2)),
        ),
        4, degree=2,
    )  # fmt: skip


def _halves(axis: int, size: int) -> list[tuple[str, tuple[Parameter, ...]]]:
    """Both results of a split into halves of this size."""
    return [("slice", (axis, 0, size)), ("slice", (axis, size, size))]


SPACES = {space.name: space for space in (taso(), unity(), products())}
