"""Properties of operators: each has instances and holds on small shapes; TASO's 43 are there; wrong ones are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, product
from random import Random

import numpy as np
import pytest

from pcg.substitute import validate as validate_module
from pcg.substitute.egraph import build, complete
from pcg.substitute.entries import Floats
from pcg.substitute.errors import TermError
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.pattern import Hole, Pattern
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.property import Binding, Property
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, variable, variables
from pcg.substitute.validate import Sizes, computation, equal, instances, sizes_for, validate


def named(p: Property) -> str:
    return f"{p.source}: {p}"


def of_images(p: Property) -> bool:
    return "conv" in str(p) or "pool" in str(p)


IMAGES = [p for p in PROPERTIES if of_images(p)]
OTHERS = [p for p in PROPERTIES if not of_images(p)]


def called(p: Property) -> dict[str, str]:
    """Its parameters that stand for any, and what an operator calls them."""
    return dict(name for side in p.sides if isinstance(side, Pattern) for name in side.names())


@pytest.mark.parametrize("p", PROPERTIES, ids=named)
def test_every_variable_and_parameter_has_a_meaning(p: Property) -> None:
    used = p.sides[0].variables | p.sides[1].variables
    assert used == p.shapes.keys()
    assert p.let.keys() <= called(p).keys()
    assert str(p.sides[0]) != str(p.sides[1])


@pytest.mark.parametrize("p", PROPERTIES, ids=named)
def test_every_property_has_an_instance(p: Property) -> None:
    of_four = (Sizes(4, s.split, s.time) for s in sizes_for(p, 2))
    assert any(True for sizes in (*sizes_for(p, 2), *of_four) for _ in islice(instances(p, sizes), 1))


@pytest.mark.parametrize("p", OTHERS, ids=named)
def test_every_property_holds_at_size_two(p: Property) -> None:
    for sizes in sizes_for(p, 2):
        assert validate(p, sizes).wrong is None


@pytest.mark.parametrize("p", IMAGES, ids=named)
def test_those_of_images_hold_at_size_one_and_at_random_sizes(p: Property) -> None:
    found = validate(p, Sizes(1))
    assert found.instances and found.wrong is None
    for left, right in islice(random_instances(p, Random(str(p))), 12):
        assert left.type == right.type and equal(left, right), f"{left} = {right} for {variables(left, right)}"


def random_instances(p: Property, random: Random) -> Iterator[tuple[Term, Term]]:
    """For images of sides 1 to 4, kernels of 1 or 3, sizes and degrees 1 or 2 otherwise."""
    values: dict[str, tuple[Parameter, ...]] = {
        "activation": ("none", "relu"), "padding": ("same", "valid"), "stride": (1, 2, 3), "kernel": (1, 2, 3),
        "function": ("relu", "tanh"), "size": (1, 3, 5), "channels": (1, 2), "axis": (0, 1, 2), "start": (0, 1),
    }  # fmt: skip
    letters = sorted({letter for shape in p.shapes.values() for letter in shape})
    for _ in range(100_000):
        sizes = {letter: random.choice((1, 1, 2)) for letter in letters}
        sizes |= {letter: random.choice((1, 2, 4)) for letter in ("h", "w")}
        sizes |= {letter: random.choice((1, 3)) for letter in ("kh", "kw")}
        degrees = {letter: random.choice((1, 1, 2)) if sizes[letter] % 2 == 0 else 1 for letter in letters}
        types = {
            name: TensorType.of(tuple(sizes[i] for i in shape), tuple(degrees[i] for i in shape))
            for name, shape in p.shapes.items()
        }
        parameters = {name: random.choice(values[of]) for name, of in called(p).items() if name not in p.let}
        terms = {name: variable(name, type) for name, type in types.items()}
        found = complete(p, types, parameters)
        if found is None:
            continue
        try:
            left, right = (build(side, terms, found) for side in p.sides)
        except TermError:
            continue
        if left.type == right.type:
            yield left, right


@pytest.mark.slow
@pytest.mark.parametrize("p", PROPERTIES, ids=named)
def test_every_property_holds_on_all_small_shapes(p: Property) -> None:
    """Also where several of its operators are one after another: that takes sizes of four."""
    for sizes in sizes_for(p, 4 if p.source == "Unity A14" else 2):
        assert validate(p, sizes).wrong is None


def test_the_properties_of_taso_are_there() -> None:
    sources = Counter(p.source for p in PROPERTIES)
    assert {f"TASO {i}" for i in range(1, 44)} == {s for s in sources if s.startswith("TASO ") and s[5:].isdigit()}
    assert {s.split()[0] for s in sources} == {"TASO", "Unity", "ours"}
    assert len({str(p) for p in PROPERTIES}) == len(PROPERTIES)


def test_a_property_holds_where_its_condition_does() -> None:
    p = Property("add(x, y)", "add(y, x)", "ours", "x: r m; y: r m", lambda b: b.type("x").shape[1] == 2)
    assert {variables(left)["x"].shape[1] for left, _ in instances(p, Sizes(3))} == {2}
    everywhere = Property("add(x, y)", "add(y, x)", "ours", "x: r m; y: r m")
    assert {variables(left)["x"].shape[1] for left, _ in instances(everywhere, Sizes(3))} == {1, 2, 3}


def test_instances_are_of_all_sizes_degrees_and_slices() -> None:
    p = Property("add(x, y)", "add(y, x)", "ours", "x: r m; y: r m")
    types = [variables(left)["x"] for left, _ in instances(p, Sizes(2, time=True))]
    sizes = [(1, 1, 1), (2, 1, 1), (2, 1, 2), (2, 2, 1)]  # size, degree, slices
    want = {TensorType(*zip(r, m, strict=True)) for r in sizes for m in sizes}
    assert len(types) == len(set(types)) and set(types) == want
    on_one_device = [variables(left)["x"] for left, _ in instances(p, Sizes(2, split=False))]
    assert {t.shape[1] for t in on_one_device} == {1, 2} and {t.degrees for t in on_one_device} == {(1, 1)}


def test_parameters_that_follow_are_computed() -> None:
    by_name = {str(p): p for p in PROPERTIES}
    p = by_name["slice[a, n, l](concat[a](x, y)) = y"]
    types = {"x": TensorType.of((1, 2, 4)), "y": TensorType.of((1, 2, 3))}
    assert complete(p, types, {"a": 2}) == {"a": 2, "n": 4, "l": 3}
    assert complete(p, types, {"a": 2, "n": 3}) is None
    assert complete(p, types, {"a": 3}) is None  # there is no such dimension
    both = by_name["concat[a](transpose[i, j](x), transpose[i, j](y)) = transpose[i, j](concat[b](x, y))"]
    assert complete(both, types, {"i": 1, "j": 2, "a": 1}) == {"i": 1, "j": 2, "a": 1, "b": 2}
    assert complete(both, types, {"i": 1, "j": 2, "b": 0}) == {"i": 1, "j": 2, "b": 0, "a": 0}
    composed = by_name["replicate[d, k](replicate[d, l](x)) = replicate[d, m](x)"]
    assert complete(composed, types, {"d": 1, "k": 2, "l": 3}) == {"d": 1, "k": 2, "l": 3, "m": 6}
    assert complete(composed, types, {"d": 1, "k": 2, "l": 3, "m": 5}) is None


#: Their sides may have equal types, and differ.
WRONG = [
    # Without the condition that there is one group.
    (
        "concat[2](conv[1, 'same', 'none'](x, y), conv[1, 'same', 'none'](x, z))",
        "conv[1, 'same', 'none'](x, concat[1](y, z))", "x: r n c h w; y: s o i kh kw; z: s l i kh kw",
    ),
    (
        "conv[1, 'same', 'none'](concat[2](x, z), concat[2](y, w))",
        "add(conv[1, 'same', 'none'](x, y), conv[1, 'same', 'none'](z, w))",
        "x: r n c h w; y: s o i kh kw; z: r n l h w; w: s o j kh kw",
    ),
    (
        "pool_max[3, 1, 'same'](add(x, y))", "add(pool_max[3, 1, 'same'](x), pool_max[3, 1, 'same'](y))",
        "x: r n c h w; y: r n c h w",
    ),
    ("pool_average[3, 1, 'same'](x)", "pool_average[1, 1, 'same'](x)", "x: r n c h w"),
    (
        "conv[1, 'same', 'none'](x, conv_identity[2, 3]())", "conv[1, 'same', 'none'](x, pool_kernel[2, 3]())",
        "x: r n c h w",
    ),
    # Copies that are summed are a multiple.
    ("reduce[d, k](replicate[d, k](x))", "x", "x: r m n"),
    ("reduce[d, k](replicate[d, l](x))", "replicate[d, l](reduce[d, k](x))", "x: r m n"),
    (
        "reduce[0, k](linear['none'](replicate[0, k](x), replicate[0, k](w)))", "linear['none'](x, w)",
        "x: r m k; w: s n k",
    ),
    ("transpose[1, 2](matmul[a](x, y))", "matmul[a](transpose[1, 2](x), transpose[1, 2](y))", "x: r m k; y: s k n"),
    ("matmul['none'](x, y)", "matmul['none'](y, x)", "x: r m k; y: s k n"),
    ("matmul['none'](x, matmul[a](y, z))", "matmul[a](matmul['none'](x, y), z)", "x: r m k; y: s k n; z: t n l"),
    # Sums over a dimension that is split are partial sums until they are reduced.
    (
        "matmul['none'](partition[2, k](x), partition[1, k](w))", "replicate[0, k](matmul['none'](x, w))",
        "x: r m k; w: s k n",
    ),
    (
        "slice[0, 0, 1](combine[0, k](matmul['none'](partition[2, k](x), partition[1, k](w))))", "matmul['none'](x, w)",
        "x: r m k; w: s k n",
    ),
    (
        "matmul[a](concat[2](x, y), concat[1](w, v))", "add(matmul[a](x, w), matmul[a](y, v))",
        "x: r m k; w: s k n; y: r m l; v: s l n",
    ),
    ("unary[f](add(x, y))", "add(unary[f](x), unary[f](y))", "x: r m n; y: r m n"),
    ("unary[f](reduce[d, k](x))", "reduce[d, k](unary[f](x))", "x: r m n"),
    ("unary['tanh'](multiple[k](x))", "multiple[k](unary['tanh'](x))", "x: r m n"),
    ("unary['tanh'](unary['tanh'](x))", "unary['tanh'](x)", "x: r m n"),
    ("unary['tanh'](x)", "unary['sigmoid'](x)", "x: r m n"),
    ("mul(reduce[d, k](x), reduce[d, k](y))", "reduce[d, k](mul(x, y))", "x: r m n; y: r m n"),
    ("add(mul(x, y), z)", "mul(add(x, z), add(y, z))", "x: r m n; y: r m n; z: r m n"),
    ("ones_like(reduce[d, k](x))", "reduce[d, k](ones_like(x))", "x: r m n"),
    ("concat[a](x, y)", "concat[a](y, x)", "x: r m n; y: r m n"),
    ("concat[a](concat[a](x, y), x)", "concat[a](x, concat[a](x, y))", "x: r m n; y: r m n"),
    (
        "combine[a, k](replicate[a, k](concat[a](x, y)))",
        "concat[a](combine[a, k](replicate[a, k](x)), combine[a, k](replicate[a, k](y)))", "x: r m n; y: r m n",
    ),
    ("slice[a, s, n](slice[a, t, l](x))", "slice[a, s, n](x)", "x: r m n"),
    ("transpose[i, j](partition[d, k](x))", "partition[d, k](x)", "x: r m n"),
    ("reduce_sum[i](mul(x, y))", "mul(reduce_sum[i](x), reduce_sum[i](y))", "x: r m n; y: r m n"),
    ("reduce_max[i](add(x, y))", "add(reduce_max[i](x), reduce_max[i](y))", "x: r m n; y: r m n"),
    ("softmax[1](x)", "softmax[2](x)", "x: r m n"),
    ("embedding(i, add(x, x))", "embedding(i, x)", "i: r m; x: s v n"),
    ("embedding(i, x)", "embedding(j, x)", "i: r m; j: r m; x: s v n"),
    ("unmerge[1, k](merge[1](x))", "transpose[1, 2](x)", "x: r m n"),
    ("merge[1](transpose[1, 2](x))", "merge[1](x)", "x: r m n"),
    ("broadcast[1, k](x)", "broadcast[2, k](x)", "x: r m"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "domain"), WRONG)
def test_a_wrong_property_is_found(left: str, right: str, domain: str) -> None:
    p = Property(left, right, "nowhere", domain)
    sizes = Sizes(2, split="conv" not in left and "pool" not in left)
    found = validate(p, sizes)
    assert found.wrong is not None, f"{found.instances} instances"
    assert found.wrong[0].type == found.wrong[1].type
    assert differ(*found.wrong)


def differ(left: Term, right: Term) -> bool:
    """Whether they do for some numbers."""
    for seed in range(20):
        random, types = np.random.default_rng(seed), variables(left, right)
        inputs = {name: random.integers(-3, 4, type.shape).astype(float) for name, type in types.items()}
        a, b = evaluate([left, right], inputs, Floats())
        if not np.allclose(a, b):
            return True
    return False


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (lambda b: b.type("x").shape[2] == b.type("y").shape[2], False),
        (lambda b: True, True),
    ],
    ids=["of one group", "of any number of groups"],
)
def test_the_condition_is_what_was_wrong(where: Callable[[Binding], bool], wrong: bool) -> None:
    left, right, domain = WRONG[0]
    found = validate(Property(left, right, "nowhere", domain, where), Sizes(2, split=False))
    assert found.instances and (found.wrong is not None) == wrong


def test_a_side_may_be_a_variable() -> None:
    assert [isinstance(s, Hole) for s in Property("add(x, y)", "y", "nowhere", "x: m; y: m").sides] == [False, True]
    assert validate(Property("add(x, y)", "y", "nowhere", "x: m; y: m"), Sizes(2)).wrong is not None


@pytest.mark.parametrize("count", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_terms_of_one_computation_have_one_value(count: int) -> None:
    """So a property that was evaluated for one of them holds for all."""
    again = 0
    for p in OTHERS:
        values: dict[object, np.ndarray] = {}
        for term in (side for s in sizes_for(p, 4) for sides in islice(instances(p, s), count) for side in sides):
            if indices(term):
                continue
            inputs = {
                name: np.random.default_rng(ord(name)).integers(0, 3, type.shape).astype(float)
                for name, type in variables(term).items()
            }
            value = evaluate([term], inputs, Floats())[0]
            first = values.setdefault(computation(term), value)
            assert first.shape == value.shape and np.array_equal(first, value), str(term)
            again += first is not value
    assert again > 10 * count


@pytest.mark.parametrize("p", OTHERS[::12], ids=named)
def test_no_instance_is_left_out(p: Property) -> None:
    """Parameters for which a part of a side cannot be built are not gone on with; here all are tried."""
    (sizes,) = sizes_for(p, 2)
    left, right = p.sides
    every = []
    for types in validate_module._types(p, sizes):
        rank = max((t.rank for t in types.values()), default=5)
        terms = {name: variable(name, type) for name, type in types.items()}
        for values in product(*(validate_module._values(of, rank, sizes.most) for of in called(p).values())):
            found = complete(p, types, dict(zip(called(p), values, strict=True)))
            if found is not None:
                try:
                    sides = build(left, terms, found), build(right, terms, found)
                except TermError:
                    continue
                every += [sides] if sides[0].type == sides[1].type else []
    assert Counter(every) == Counter(instances(p, sizes))
