"""The properties that proofs use, each with its source: TASO's 43 (SOSP'19, table 2), those of parallel operators that
Unity names or implies (OSDI'22, section 4), and ours.

Dimension 0 is the replica dimension, so that axis 0 of TASO's matrices and images is 1 here.  Every one of them is
validated on all small shapes by `pcg-substitutions validate`; conditions are what that found necessary.
"""

from __future__ import annotations

from collections.abc import Callable

from pcg.substitute.property import Binding, Property

_IMAGE, _KERNEL = "r n c h w", "s o i kh kw"


def _size(name: str, axis: str) -> Callable[[Binding], int | None]:
    def size(b: Binding) -> int | None:
        type, dim = b.type(name), b.number(axis)
        return type.shape[dim] if dim < type.rank else None

    return size


def _half(name: str, axis: str) -> Callable[[Binding], int | None]:
    def half(b: Binding) -> int | None:
        size = _size(name, axis)(b)
        return size // 2 if size is not None and size % 2 == 0 else None

    return half


def _at_least_0(value: int) -> int | None:
    return value if value >= 0 else None


def _exchanged(of: str) -> Callable[[Binding], int | None]:
    """Where dimension `of` is after dimensions i and j are exchanged."""

    def dim(b: Binding) -> int | None:
        i, j, d = b.number("i"), b.number("j"), b.number(of)
        return j if d == i else i if d == j else d

    return dim


def _differ(*names: str) -> Callable[[Binding], bool]:
    return lambda b: len({b.number(n) for n in names}) == len(names)


def _taso() -> list[Property]:
    """TASO's, but for 14, 15, 36 and 37: they are of products, and below."""
    same2, same3 = "x: r m n; y: r m n", "x: r m n; y: r m n; z: r m n"
    conv = "conv[s, p, a]({}, {})"
    plain = "conv[s, p, 'none']({}, {})"
    number = "x: r m n; w:"
    return [
        Property("add(x, add(y, z))", "add(add(x, y), z)", "TASO 1", same3),
        Property("add(x, y)", "add(y, x)", "TASO 2", same2),
        Property("mul(x, mul(y, z))", "mul(mul(x, y), z)", "TASO 3", same3),
        Property("mul(x, y)", "mul(y, x)", "TASO 4", same2),
        Property("mul(add(x, y), z)", "add(mul(x, z), mul(y, z))", "TASO 5", same3),
        Property("scale(scale(x, v), w)", "scale(x, mul(v, w))", "TASO 6", "x: r m n; v:; w:"),
        Property("scale(add(x, y), w)", "add(scale(x, w), scale(y, w))", "TASO 7", f"{same2}; w:"),
        Property("scale(mul(x, y), w)", "mul(x, scale(y, w))", "TASO 8", f"{same2}; w:"),
        Property("transpose[i, j](transpose[i, j](x))", "x", "TASO 9", "x: r m n"),
        Property("transpose[i, j](add(x, y))", "add(transpose[i, j](x), transpose[i, j](y))", "TASO 10", same2),
        Property("transpose[i, j](mul(x, y))", "mul(transpose[i, j](x), transpose[i, j](y))", "TASO 11", same2),
        Property("transpose[i, j](scale(x, w))", "scale(transpose[i, j](x), w)", "TASO 12", number),
        Property(
            "matmul['none'](x, matmul[a](y, z))",
            "matmul[a](matmul['none'](x, y), z)",
            "TASO 13",
            "x: r m k; y: s k n; z: t n l",
            where=lambda b: b.parameters["a"] == "none" and _one_device(b, "x", "y", "z"),
        ),
        Property(
            "transpose[1, 2](matmul[a](x, y))",
            "matmul[a](transpose[1, 2](y), transpose[1, 2](x))",
            "TASO 16",
            "x: r m k; y: s k n",
            where=lambda b: b.type("x").rank == 3 and _one_device(b, "x", "y"),
        ),
        Property(
            conv.format("scale(x, w)", "y"),
            conv.format("x", "scale(y, w)"),
            "TASO 17",
            f"x: {_IMAGE}; y: {_KERNEL}; w:",
        ),
        Property(
            f"scale({plain.format('x', 'y')}, w)",
            plain.format("scale(x, w)", "y"),
            "TASO 18",
            f"x: {_IMAGE}; y: {_KERNEL}; w:",
        ),
        Property(
            plain.format("x", "add(y, z)"),
            f"add({plain.format('x', 'y')}, {plain.format('x', 'z')})",
            "TASO 19",
            f"x: {_IMAGE}; y: {_KERNEL}; z: {_KERNEL}",
        ),
        Property(
            plain.format("add(x, y)", "z"),
            f"add({plain.format('x', 'z')}, {plain.format('y', 'z')})",
            "TASO 20",
            f"x: {_IMAGE}; y: {_IMAGE}; z: {_KERNEL}",
        ),
        Property(
            "conv[s, 'same', a](x, y)",
            "conv[s, 'same', a](x, enlarge[k](y))",
            "TASO 21",
            f"x: {_IMAGE}; y: {_KERNEL}",
            where=lambda b: all(p % 2 for p in b.type("y").shape[3:]),
        ),
        Property("conv[s, p, a](x, y)", "unary[a](conv[s, p, 'none'](x, y))", "TASO 22", f"x: {_IMAGE}; y: {_KERNEL}"),
        Property("unary[f](transpose[i, j](x))", "transpose[i, j](unary[f](x))", "TASO 23", "x: r m n"),
        Property(
            "conv[s, p, 'none'](x, pool_kernel[c, k]())",
            "pool_average[k, s, p](x)",
            "TASO 24",
            f"x: {_IMAGE}",
            let={"c": lambda b: b.type("x").shape[2]},
        ),
        Property(
            "conv[1, 'same', 'none'](x, conv_identity[c, k]())",
            "x",
            "TASO 25",
            f"x: {_IMAGE}",
            let={"c": lambda b: b.type("x").shape[2]},
        ),
        Property("matmul['none'](x, identity[n]())", "x", "TASO 26", "x: r m k"),
        Property("mul(x, ones_like(x))", "x", "TASO 27", "x: r m n"),
        Property("slice[a, 0, n](concat[a](x, y))", "x", "TASO 28", "x: r m n; y: r m l", let={"n": _size("x", "a")}),
        Property(
            "slice[a, n, l](concat[a](x, y))",
            "y",
            "TASO 29",
            "x: r m n; y: r m l",
            let={"n": _size("x", "a"), "l": _size("y", "a")},
        ),
        Property(
            "concat[a](concat[b](x, y), concat[b](z, w))",
            "concat[b](concat[a](x, z), concat[a](y, w))",
            "TASO 30",
            "x: r m n; y: r m l; z: r k n; w: r k l",
            where=_differ("a", "b"),
        ),
        Property(
            "concat[a](scale(x, w), scale(y, w))", "scale(concat[a](x, y), w)", "TASO 31", "x: r m n; y: r m l; w:"
        ),
        Property(
            "concat[a](add(x, y), add(z, w))",
            "add(concat[a](x, z), concat[a](y, w))",
            "TASO 32",
            "x: r m n; y: r m n; z: r m l; w: r m l",
            where=lambda b: b.type("x") == b.type("y"),
        ),
        Property(
            "concat[a](mul(x, y), mul(z, w))",
            "mul(concat[a](x, z), concat[a](y, w))",
            "TASO 33",
            "x: r m n; y: r m n; z: r m l; w: r m l",
            where=lambda b: b.type("x") == b.type("y"),
        ),
        Property("concat[a](unary[f](x), unary[f](y))", "unary[f](concat[a](x, y))", "TASO 34", "x: r m n; y: r m l"),
        Property(
            "concat[a](transpose[i, j](x), transpose[i, j](y))",
            "transpose[i, j](concat[b](x, y))",
            "TASO 35",
            "x: r m n; y: r m l",
            let={"b": _exchanged("a"), "a": _exchanged("b")},
        ),
        Property(
            f"concat[1]({conv.format('x', 'z')}, {conv.format('y', 'z')})",
            conv.format("concat[1](x, y)", "z"),
            "TASO 38",
            f"x: {_IMAGE}; y: r m c h w; z: {_KERNEL}",
        ),
        Property(
            f"concat[2]({conv.format('x', 'y')}, {conv.format('x', 'z')})",
            conv.format("x", "concat[1](y, z)"),
            "TASO 39",
            f"x: {_IMAGE}; y: {_KERNEL}; z: s l i kh kw",
            where=lambda b: b.type("x").shape[2] == b.type("y").shape[2],
        ),
        Property(
            plain.format("concat[2](x, z)", "concat[2](y, w)"),
            f"add({plain.format('x', 'y')}, {plain.format('z', 'w')})",
            "TASO 40",
            f"x: {_IMAGE}; y: {_KERNEL}; z: r n l h w; w: s o j kh kw",
            where=lambda b: all(b.type(i).shape[2] == b.type(k).shape[2] for i, k in (("x", "y"), ("z", "w"))),
        ),
        *(
            Property(
                f"concat[{axis}](pool_{kind}[k, s, p](x), pool_{kind}[k, s, p](y))",
                f"pool_{kind}[k, s, p](concat[{axis}](x, y))",
                source,
                f"x: {_IMAGE}; y: {other}",
            )
            for kind, axis, source, other in (
                ("average", 2, "TASO 41", "r n l h w"),
                ("max", 1, "TASO 42", "r l c h w"),
                ("max", 2, "TASO 43", "r n l h w"),
            )
        ),
    ]


def _one_device(b: Binding, *names: str) -> bool:
    return all(d == 1 for n in names for d in b.type(n).degrees)


def _one_device_but_copies(b: Binding, *names: str) -> bool:
    return all(d == 1 for n in names for d in b.type(n).degrees[1:])


_PARALLEL = ("partition", "combine", "replicate", "reduce")
_TIME = ("pipeline", "batch")


def _alone() -> list[Property]:
    """Of the parallel operators among themselves."""
    x = "x: r m n"
    found = [
        Property("combine[d, k](partition[d, k](x))", "x", "Unity A1", x),
        Property("partition[d, k](combine[d, k](x))", "x", "Unity A2", x),
        Property("batch[d, k](pipeline[d, k](x))", "x", "Unity 3.3", x),
        Property("pipeline[d, k](batch[d, k](x))", "x", "Unity 3.3", x),
        Property("reduce[d, k](replicate[d, k](x))", "multiple[k](x)", "Unity A13", x),
        Property(
            "reduce[d, k](replicate[e, l](x))", "replicate[e, l](reduce[d, k](x))", "Unity A12", x, _differ("d", "e")
        ),
    ]
    letters = (*_PARALLEL, *_TIME)
    for i, first in enumerate(letters):
        for second in letters[i:]:
            if {first, second} != {"replicate", "reduce"}:
                source = "Unity A3-A11" if second in _PARALLEL else "ours"
                found.append(
                    Property(f"{first}[d, k]({second}[e, l](x))", f"{second}[e, l]({first}[d, k](x))", source, x)
                )
    for name in letters:
        found.append(
            Property(
                f"{name}[d, k]({name}[d, l](x))",
                f"{name}[d, m](x)",
                "Unity A14",
                x,
                let={"m": lambda b: b.number("k") * b.number("l")},
            )
        )
    return found


def _elementwise() -> list[Property]:
    """Of parallel operators and those that work on every element."""
    one, two = "x: r m n", "x: r m n; y: r m n"
    found = []
    for name in ("partition", "combine", "replicate", *_TIME):
        source = "Unity B1-B3" if name in _PARALLEL else "ours"
        found += [
            Property(f"unary[f]({name}[d, k](x))", f"{name}[d, k](unary[f](x))", source, one),
            Property(f"mul({name}[d, k](x), {name}[d, k](y))", f"{name}[d, k](mul(x, y))", "Unity B7-B8", two),
            Property(f"ones_like({name}[d, k](x))", f"{name}[d, k](ones_like(x))", "ours", one),
        ]
    for name in (*_PARALLEL, *_TIME):
        found += [
            Property(f"add({name}[d, k](x), {name}[d, k](y))", f"{name}[d, k](add(x, y))", "Unity B4-B6", two),
            Property(f"scale({name}[d, k](x), w)", f"{name}[d, k](scale(x, w))", "Unity B10", f"{one}; w:"),
            Property(f"multiple[f]({name}[d, k](x))", f"{name}[d, k](multiple[f](x))", "Unity B10", one),
        ]
    return [
        *found,
        Property(
            "mul(reduce[d, k](x), y)", "reduce[d, k](mul(x, replicate[d, k](y)))", "Unity B9", "x: r m n; y: s k l"
        ),
        Property("add(x, y)", "reduce[d, 2](partition[d, 2](concat[d](x, y)))", "Unity B11, figure 11b", two),
        Property("add(x, x)", "multiple[2](x)", "ours", one),
        Property("combine[d, 2](replicate[d, 2](x))", "concat[d](x, x)", "ours", one),
        Property(
            "multiple[k](multiple[l](x))",
            "multiple[m](x)",
            "ours",
            one,
            let={"m": lambda b: b.number("k") * b.number("l")},
        ),
        Property("multiple[k](add(x, y))", "add(multiple[k](x), multiple[k](y))", "ours", two),
        Property("multiple[k](mul(x, y))", "mul(multiple[k](x), y)", "ours", two),
        Property("multiple[k](scale(x, w))", "scale(multiple[k](x), w)", "ours", f"{one}; w:"),
    ]


def _product(op: str, w: str, k: int, n: int) -> list[Property]:
    """Of `op`, whose second operand has dimensions `w`; its dimensions k and n are these."""
    domain = f"x: r m k; w: {w}"

    def product_of(x: str, y: str, act: str = "'none'") -> str:
        return f"{op}[{act}]({x}, {y})"

    def no_common(b: Binding) -> bool:
        """Nothing is left of the replica dimensions beside the copies that the other's parts need."""
        return b.type("x").degrees[0] == b.type("w").degrees[n]

    plain = product_of("x", "w")
    act = product_of("x", "w", "a")
    copies = "replicate[0, k]({})"
    return [
        Property(
            product_of("partition[1, k](x)", copies.format("w"), "a"),
            f"partition[1, k]({act})",
            "Unity C1",
            domain,
            lambda b: b.type("w").degrees[0] == 1,
        ),
        Property(
            product_of(copies.format("x"), f"partition[{n}, k](w)", "a"),
            f"partition[2, k]({act})",
            "Unity C2",
            domain,
            lambda b: b.type("x").degrees[0] == 1,
        ),
        Property(
            f"reduce[0, k]({product_of('partition[2, k](x)', f'partition[{k}, k](w)')})",
            plain,
            "Unity C3",
            domain,
            lambda b: no_common(b) and b.type("x").degrees[2] == 1,
        ),
        Property(
            product_of("reduce[0, k](x)", "w"),
            f"reduce[0, k]({product_of('x', copies.format('w'))})",
            "Unity C4",
            domain,
        ),
        Property(
            product_of("x", "reduce[0, k](w)"),
            f"reduce[0, k]({product_of(copies.format('x'), 'w')})",
            "Unity C5",
            domain,
        ),
        Property(
            product_of(copies.format("x"), copies.format("w"), "a"), f"replicate[0, k]({act})", "Unity C6", domain
        ),
        Property(
            product_of("x", f"concat[{k}](w, v)"),
            f"add({product_of('slice[2, 0, i](x)', 'w')}, {product_of('slice[2, i, j](x)', 'v')})",
            "ours",
            f"x: r m l; w: {w}; v: {w.replace('k', 'h')}",
            let={"i": lambda b: b.type("w").shape[k], "j": lambda b: b.type("v").shape[k]},
        ),
        Property(
            product_of("concat[2](x, y)", "w"),
            f"add({product_of('x', f'slice[{k}, 0, i](w)')}, {product_of('y', f'slice[{k}, i, j](w)')})",
            "ours",
            f"x: r m k; y: r m h; w: {w.replace('k', 'l')}",
            let={"i": lambda b: b.type("x").shape[2], "j": lambda b: b.type("y").shape[2]},
        ),
        Property(
            product_of("combine[0, k](x)", "w", "a"),
            f"combine[0, k]({product_of('x', copies.format('w'), 'a')})",
            "ours",
            domain,
            lambda b: _one_device_but_copies(b, "x", "w") and b.type("w").shape[0] == 1,
        ),
        Property(
            product_of("x", "combine[0, k](w)", "a"),
            f"combine[0, k]({product_of(copies.format('x'), 'w', 'a')})",
            "ours",
            domain,
            lambda b: _one_device_but_copies(b, "x", "w") and b.type("x").shape[0] == 1,
        ),
        Property(
            f"reduce[1, k]({product_of('replicate[1, k](x)', 'w', 'a')})",
            f"reduce[0, k]({product_of(copies.format('x'), 'w', 'a')})",
            "ours",
            domain,
            lambda b: b.type("x").degrees[:2] == (1, 1) and b.type("w").degrees[0] == b.number("k"),
        ),
        Property(
            f"reduce[2, k]({product_of('x', f'replicate[{n}, k](w)', 'a')})",
            f"reduce[0, k]({product_of('x', copies.format('w'), 'a')})",
            "ours",
            domain,
            lambda b: b.type("w").degrees[0] == b.type("w").degrees[n] == 1 and b.type("x").degrees[0] == b.number("k"),
        ),
        Property(
            product_of("slice[1, s, l](x)", "w", "a"),
            f"slice[1, s, l]({act})",
            "ours",
            domain,
        ),
        Property(
            product_of("x", f"slice[{n}, s, l](w)", "a"),
            f"slice[2, s, l]({act})",
            "ours",
            domain,
        ),
        Property(
            product_of("combine[0, k](x)", "combine[0, k](w)", "a"),
            f"combine[0, k]({act})",
            "ours",
            domain,
            lambda b: _one_device_but_copies(b, "x", "w"),
        ),
        Property(
            product_of("partition[0, k](x)", "partition[0, k](w)", "a"),
            f"partition[0, k]({act})",
            "ours",
            domain,
            lambda b: _one_device_but_copies(b, "x", "w"),
        ),
        Property(
            product_of("replicate[1, k](x)", copies.format("w"), "a"),
            f"replicate[1, k]({act})",
            "ours",
            domain,
            no_common,
        ),
        Property(
            product_of(copies.format("x"), f"replicate[{n}, k](w)", "a"),
            f"replicate[2, k]({act})",
            "ours",
            domain,
            no_common,
        ),
        Property(
            product_of("replicate[2, k](x)", f"replicate[{k}, k](w)"),
            f"replicate[0, k]({plain})",
            "ours",
            domain,
            lambda b: no_common(b) and b.type("x").degrees[2] == 1,
        ),
        Property(
            product_of("reduce[1, k](x)", "w"),
            f"reduce[1, k]({product_of('x', copies.format('w'))})",
            "ours",
            f"x: r m k; w: {w}",
            no_common,
        ),
        Property(
            product_of("x", f"reduce[{n}, k](w)"),
            f"reduce[2, k]({product_of(copies.format('x'), 'w')})",
            "ours",
            f"x: r m k; w: {w}",
            lambda b: b.type("x").degrees[0] * b.number("k") == b.type("w").degrees[n],
        ),
        Property(product_of("x", "w", "a"), f"unary[a]({plain})", "TASO 22, of products", domain),
        Property(
            product_of("add(x, y)", "w"), f"add({plain}, {product_of('y', 'w')})", "TASO 15", f"{domain}; y: r m k"
        ),
        Property(product_of("x", "add(w, v)"), f"add({plain}, {product_of('x', 'v')})", "TASO 15", f"{domain}; v: {w}"),
        Property(product_of("scale(x, v)", "w"), f"scale({plain}, v)", "TASO 14", f"{domain}; v:"),
        Property(product_of("x", "scale(w, v)"), f"scale({plain}, v)", "TASO 14", f"{domain}; v:"),
        Property(product_of("multiple[f](x)", "w"), f"multiple[f]({plain})", "ours", domain),
        Property(product_of("x", "multiple[f](w)"), f"multiple[f]({plain})", "ours", domain),
        Property(
            product_of("concat[1](x, y)", "w", "a"),
            f"concat[1]({act}, {product_of('y', 'w', 'a')})",
            "TASO 36",
            f"{domain}; y: r l k",
        ),
        Property(
            product_of("x", f"concat[{n}](w, v)", "a"),
            f"concat[2]({act}, {product_of('x', 'v', 'a')})",
            "TASO 36",
            f"{domain}; v: {w.replace('n', 'l')}",
        ),
        Property(
            product_of("concat[2](x, y)", f"concat[{k}](w, v)"),
            f"add({plain}, {product_of('y', 'v')})",
            "TASO 37",
            f"{domain}; y: r m l; v: {w.replace('k', 'l')}",
        ),
        Property(
            product_of("concat[0](x, y)", "w", "a"),
            f"concat[0]({act}, {product_of('y', 'w', 'a')})",
            "ours",
            f"{domain}; y: t m k",
            lambda b: b.type("w").shape[0] == 1,
        ),
        Property(
            product_of("x", "concat[0](w, v)", "a"),
            f"concat[0]({act}, {product_of('x', 'v', 'a')})",
            "ours",
            f"{domain}; v: {w.replace('s', 't')}",
            lambda b: b.type("x").shape[0] == 1,
        ),
        Property(
            product_of("concat[0](x, y)", "concat[0](w, v)", "a"),
            f"concat[0]({act}, {product_of('y', 'v', 'a')})",
            "ours",
            f"{domain}; y: t m k; v: {w.replace('s', 'u')}",
            lambda b: b.type("x").shape[0] == b.type("w").shape[0] and b.type("y").shape[0] == b.type("v").shape[0],
        ),
    ]


def _products() -> list[Property]:
    """Of parallel operators and matrix products: of matrices, and of layers with their weight as [r, n, k]."""
    return [
        *_product("matmul", "s k n", 1, 2),
        *_product("linear", "s n k", 2, 1),
        Property("linear[a](x, w)", "matmul[a](x, transpose[1, 2](w))", "ours", "x: r m k; w: s n k"),
        Property(
            "matmul[a](partition[1, k](x), partition[1, k](w))",
            "partition[1, k](matmul[a](x, w))",
            "Unity C7",
            "x: r b m k; w: s b k n",
        ),
    ]


def _structure() -> list[Property]:
    """Of parallel operators and those that compute nothing."""
    one, two = "x: r m n", "x: r m n; y: r l p"
    found = []
    for name in (*_PARALLEL, *_TIME):
        found += [
            Property(
                f"concat[a]({name}[d, k](x), {name}[d, k](y))",
                f"{name}[d, k](concat[a](x, y))",
                "Unity D1-D3",
                two,
                _differ("a", "d"),
            ),
            Property(
                f"slice[a, s, n]({name}[d, k](x))",
                f"{name}[d, k](slice[a, s, n](x))",
                "Unity D4",
                one,
                _differ("a", "d"),
            ),
            Property(
                f"transpose[i, j]({name}[d, k](x))",
                f"{name}[e, k](transpose[i, j](x))",
                "Unity D5",
                one,
                let={"e": _exchanged("d"), "d": _exchanged("e")},
            ),
        ]
    return [
        *found,
        Property(
            "concat[a](concat[a](x, y), z)", "concat[a](x, concat[a](y, z))", "ours", "x: r m n; y: r k l; z: r p q"
        ),
        Property(
            "concat[a](slice[a, s, n](x), slice[a, t, l](x))",
            "slice[a, s, m](x)",
            "ours",
            one,
            where=lambda b: b.number("t") == b.number("s") + b.number("n"),
            let={"m": lambda b: b.number("n") + b.number("l")},
        ),
        Property("slice[a, 0, n](x)", "x", "ours", one, let={"n": _size("x", "a")}),
        Property("merge[a](unmerge[a, k](x))", "x", "ours", one),
        Property(
            "unmerge[a, k](concat[a](x, y))",
            "concat[a](unmerge[a, k](x), unmerge[a, k](y))",
            "ours",
            "x: r m n; y: r m l",
        ),
        Property(
            "slice[a, i, j](unmerge[a, k](x))",
            "unmerge[a, k](slice[a, s, n](x))",
            "ours",
            one,
            let={"s": lambda b: b.number("i") * b.number("k"), "n": lambda b: b.number("j") * b.number("k")},
        ),
        Property(
            "reduce[d, 2](partition[d, 2](x))",
            "add(slice[d, 0, n](x), slice[d, n, n](x))",
            "ours",
            one,
            where=lambda b: b.type("x").shape[b.number("d")] == 2 * b.number("n"),
            let={"n": _half("x", "d")},
        ),
        Property(
            "slice[a, s, n](slice[a, t, l](x))",
            "slice[a, u, n](x)",
            "ours",
            one,
            let={"u": lambda b: b.number("s") + b.number("t")},
        ),
        Property(
            "slice[a, s, n](slice[b, t, l](x))", "slice[b, t, l](slice[a, s, n](x))", "ours", one, _differ("a", "b")
        ),
        Property(
            "slice[b, s, n](concat[a](x, y))",
            "concat[a](slice[b, s, n](x), slice[b, s, n](y))",
            "ours",
            "x: r m n; y: r m l",
            _differ("a", "b"),
        ),
        Property("slice[a, s, n](scale(x, w))", "scale(slice[a, s, n](x), w)", "ours", f"{one}; w:"),
        Property("slice[a, s, n](multiple[f](x))", "multiple[f](slice[a, s, n](x))", "ours", one),
        Property(
            "slice[a, s, n](transpose[i, j](x))",
            "transpose[i, j](slice[b, s, n](x))",
            "ours",
            one,
            let={"b": _exchanged("a"), "a": _exchanged("b")},
        ),
        Property("slice[a, s, n](concat[a](x, y))", "slice[a, s, n](x)", "ours", "x: r m n; y: r m l"),
        Property(
            "slice[a, s, n](concat[a](x, y))",
            "slice[a, t, n](y)",
            "ours",
            "x: r m n; y: r m l",
            let={"t": lambda b: _at_least_0(b.number("s") - (_size("x", "a")(b) or 0))},
        ),
        Property(
            "slice[a, s, n](concat[a](x, y))",
            "concat[a](slice[a, s, i](x), slice[a, 0, j](y))",
            "ours",
            "x: r m n; y: r m l",
            let={
                "i": lambda b: _at_least_0((_size("x", "a")(b) or 0) - b.number("s")),
                "j": lambda b: _at_least_0(b.number("n") - b.number("i")),
            },
        ),
        Property("enlarge[k](x)", "x", "ours", f"x: {_KERNEL}"),
        # Of convolutions without groups, one of two: with groups of their own it is wrong, and TASO has withdrawn it.
        Property(
            "concat[2](conv[s, p, a](x, y), conv[s, p, a](z, w))",
            "conv[s, p, a](concat[2](x, z), concat[1](y, w))",
            "ours",
            f"x: {_IMAGE}; z: {_IMAGE}; y: {_KERNEL}; w: {_KERNEL}",
            where=lambda b: b.type("x").shape[2] == b.type("y").shape[2] and _one_device(b, "x", "y", "z", "w"),
        ),
        Property("unary[f](slice[a, s, n](x))", "slice[a, s, n](unary[f](x))", "ours", one),
        Property(
            "add(slice[a, s, n](x), slice[a, s, n](y))", "slice[a, s, n](add(x, y))", "ours", "x: r m n; y: r m n"
        ),
        Property(
            "mul(slice[a, s, n](x), slice[a, s, n](y))", "slice[a, s, n](mul(x, y))", "ours", "x: r m n; y: r m n"
        ),
        Property("concat[a](multiple[f](x), multiple[f](y))", "multiple[f](concat[a](x, y))", "ours", two),
    ]


def _constants() -> list[Property]:
    """Of tensors that are known."""
    one = "x: r m n"
    return [
        Property("ones_like(ones_like(x))", "ones_like(x)", "ours", one),
        Property("mul(x, ones_like(y))", "x", "ours", "x: r m n; y: r m n"),
        Property("scale(x, ones_like(v))", "x", "ours", f"{one}; v:"),
        Property("scale(x, add(v, w))", "add(scale(x, v), scale(x, w))", "ours", f"{one}; v:; w:"),
        Property("matmul['none'](identity[n](), x)", "x", "ours", one),
        Property("transpose[1, 2](identity[n]())", "identity[n]()", "ours", ""),
        Property("mul(identity[n](), identity[n]())", "identity[n]()", "ours", ""),
        Property("mul(conv_identity[c, k](), conv_identity[c, k]())", "conv_identity[c, k]()", "ours", ""),
        Property("slice[a, s, n](pool_kernel[c, k]())", "slice[a, 0, n](pool_kernel[c, k]())", "ours", ""),
        Property("transpose[i, j](ones_like(x))", "ones_like(transpose[i, j](x))", "ours", one),
        Property("ones_like(transpose[i, j](x))", "ones_like(x)", "ours", one),
        Property("slice[a, s, n](ones_like(x))", "ones_like(slice[a, s, n](x))", "ours", one),
        Property("slice[a, s, n](ones_like(x))", "slice[a, 0, n](ones_like(x))", "ours", one),
        Property("concat[a](ones_like(x), ones_like(y))", "ones_like(concat[a](x, y))", "ours", "x: r m n; y: r m l"),
        Property("pool_max[k, s, p](ones_like(x))", "ones_like(pool_max[k, s, p](x))", "ours", f"x: {_IMAGE}"),
        Property("ones_like(pool_max[k, s, p](x))", "ones_like(x)", "ours", f"x: {_IMAGE}"),
    ]


def _tables() -> list[Property]:
    """Of what is added to rows of tables, and of signs and zeros."""
    one, two = "x: r m n", "x: r m n; y: r m n"
    table = "x: r v n; i: r m; g: r m n"
    return [
        Property(
            "add(y, scatter_add(x, i, g))", "scatter_add(add(y, x), i, g)", "ours", f"{table}; y: r v n"
        ),
        Property("scale(scatter_add(x, i, g), w)", "scatter_add(scale(x, w), i, scale(g, w))", "ours", f"{table}; w:"),
        Property("neg(scatter_add(x, i, g))", "scatter_add(neg(x), i, neg(g))", "ours", table),
        Property("add(x, zeros[m, n]())", "x", "ours", one),
        Property("scale(zeros[m, n](), w)", "zeros[m, n]()", "ours", "w:"),
        Property("neg(zeros[m, n]())", "zeros[m, n]()", "ours", ""),
        Property("neg(neg(x))", "x", "ours", one),
        Property("neg(add(x, y))", "add(neg(x), neg(y))", "ours", two),
        Property("neg(scale(x, w))", "scale(neg(x), w)", "ours", f"{one}; w:"),
        Property("neg(mul(x, y))", "mul(neg(x), y)", "ours", two),
        Property("neg(transpose[i, j](x))", "transpose[i, j](neg(x))", "ours", one),
        Property("neg(slice[a, s, l](x))", "slice[a, s, l](neg(x))", "ours", one),
        Property("neg(concat[a](x, y))", "concat[a](neg(x), neg(y))", "ours", "x: r m n; y: r m l"),
        Property("neg(matmul['none'](x, y))", "matmul['none'](neg(x), y)", "ours", "x: r m k; y: r k n"),
        Property("neg(matmul['none'](x, y))", "matmul['none'](x, neg(y))", "ours", "x: r m k; y: r k n"),
        *(
            Property(f"neg({name}[d, k](x))", f"{name}[d, k](neg(x))", "ours", one)
            for name in (*_PARALLEL, *_TIME)
        ),
    ]


#: All of them, in order.
PROPERTIES: tuple[Property, ...] = (
    *_taso(), *_alone(), *_elementwise(), *_products(), *_structure(), *_constants(), *_tables(),
)  # fmt: skip
