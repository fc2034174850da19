"""Layouts that the user asks for inside a jax function: `pcg.shard` and `pcg.shard_op`.

A request is an identity primitive that any jax transformation passes on (its derivative asks the same of
the derivative, its batched form leaves the new dimension open).  Where `pcg.compile` traces, it becomes a
sharding constraint on the mesh; anywhere else it vanishes.  Imports jax.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.extend import source_info_util
from jax.extend.mlir import ir as jax_ir
from jax.extend.mlir.dialects import stablehlo as hlo
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir
from jax.sharding import NamedSharding, PartitionSpec
from jaxlib.mlir.dialects import sdy

from pcg.driver.program import ProgramError
from pcg.frontend.function_rule import rule_of
from pcg.layout import Mesh, ShardSpec, SpecError, refine
from pcg.rules.strategy import StrategyError, TensorLayout, derive, parse_slices, parse_strategy
from pcg.runtime import jax_compat

source_info_util.register_exclusion(__file__)

_MESH: ContextVar[jax.sharding.Mesh | None] = ContextVar("pcg_mesh", default=None)
_MESHES: ContextVar[Mapping[str, Mesh] | None] = ContextVar("pcg_meshes", default=None)
#: What a request becomes in a program on several meshes: a custom call, with what is asked as JSON.
REQUEST = "pcg.shard"


@dataclass(frozen=True)
class Request:
    """What is asked for one tensor: the axes of each dimension, or slices in a device matrix.

    Dimensions in `free` may be split further; the others are as they are said to be.  `mesh` is which mesh, of a
    program on several; `priority` is that of every dimension (see `shard`).
    """

    layout: ShardSpec | TensorLayout
    free: tuple[int, ...] = ()
    mesh: str | None = None
    priority: int = 0

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return self.layout.rank if isinstance(self.layout, ShardSpec) else len(self.layout.tensor_map)

    def spec(self, mesh: Mesh) -> ShardSpec:
        """The request by the axes of `mesh`.

        Raises:
          StrategyError: the mesh cannot express the slices.
        """
        return self.layout if isinstance(self.layout, ShardSpec) else self.layout.spec(mesh)

    def insert(self, dim: int) -> Request:
        """The request for a tensor with one more dimension, which is free, at `dim`."""
        layout = self.layout
        if isinstance(layout, ShardSpec):
            layout = ShardSpec((*layout.dims[:dim], (), *layout.dims[dim:]))
        else:
            layout = layout.insert(dim)
        return Request(layout, tuple(sorted((dim, *(d + (d >= dim) for d in self.free)))), self.mesh, self.priority)


# -- what users call -------------------------------------------------------------------------------


def shard(x: Any, spec: Any, *, mesh: str | None = None, priority: int = 0) -> Any:
    """Ask that `x` be laid out as `spec` where it stands in the program; the values do not change.

    Args:
      x: an array that is being traced, or a tree of them, each of which gets `spec`.
      spec: a `pcg.ShardSpec` or its text (`"[data, -]"`); a tuple like a PartitionSpec, per dimension an
        axis name, a tuple of them, or None for a dimension that is whole (trailing dimensions too);
        an axis may be a sub-axis, `"x:(1)2"`: the major 2 of `x`;
        a PartitionSpec or a NamedSharding; a tuple of numbers, the slices per dimension; or None, which
        asks nothing.

      mesh: name of the mesh, in a program on several (`pcg.processes.lower`).  With `spec` None, `x` is to be on
        that mesh in whatever layout.
      priority: with `strategy="priority"`, the round in which this layout spreads to other values: 0 is first.  It
        is kept in any case.

    Returns:
      `x`.  Outside of `pcg.compile` that is all: the function runs as if nothing were asked.

    Raises:
      SpecError: `spec` is none of these, or has not the rank of `x`; `priority` is not a number from 0.
    """
    if isinstance(priority, bool) or not isinstance(priority, int) or priority < 0:
        raise SpecError(f"priority {priority!r}; expected 0, 1, 2, ...")
    if spec is None and mesh is None:
        return x

    def request(rank: int) -> Request:
        if spec is None:
            return Request(ShardSpec.replicated(rank), tuple(range(rank)), mesh)
        return replace(_request(spec, rank), mesh=mesh, priority=priority)

    return jax.tree.map(lambda leaf: _ask(leaf, request(_rank(leaf))), x)


def shard_op(
    fn: Callable[..., Any], in_specs: Any = None, out_specs: Any = None, *, strategy: Any = None
) -> Callable[..., Any]:
    """`fn` (an operation or a module) with the layouts of its inputs and outputs asked for.

    Args:
      fn: any function of arrays, or trees of them, that jax can trace.
      in_specs: one layout (see `shard`) per positional argument, None for an argument left free.  For an
        argument that is a dict, list or tuple: one layout for all its arrays, or a like structure.
      out_specs: the same for what `fn` returns.
      strategy: instead, as MindSpore writes it: slices per dimension of each input array, in order,
        `((2,1),(1,4))`.  The layouts of inputs and outputs follow from the factors of the operation.

    Returns:
      A function like `fn`.  Outside of `pcg.compile` it does what `fn` does.

    Raises:
      StrategyError: both kinds are given; when called: the strategy does not fit the inputs.
      SpecError: when called: a layout does not fit an argument.
    """
    if strategy is not None:
        if in_specs is not None or out_specs is not None:
            raise StrategyError("shard_op takes in_specs and out_specs, or a strategy; both are given")
        cuts = parse_strategy(strategy)
    elif in_specs is not None and (not isinstance(in_specs, tuple | list) or isinstance(in_specs, PartitionSpec)):
        raise SpecError(f"in_specs {in_specs!r:.80}; expected a tuple with one layout per argument")

    @functools.wraps(fn)
    def by_specs(*args: Any, **kwargs: Any) -> Any:
        if in_specs is not None:
            if len(in_specs) != len(args):
                raise SpecError(f"in_specs has {len(in_specs)} layouts; {_name(fn)} got {len(args)} arguments")
            args = tuple(_tree(a, s, f"in_specs[{i}]") for i, (a, s) in enumerate(zip(args, in_specs, strict=True)))
        return _tree(fn(*args, **kwargs), out_specs, "out_specs")

    @functools.wraps(fn)
    def by_strategy(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        if not jax_compat.any_traced(leaves):
            return fn(*args, **kwargs)

        def flat(*given: Any) -> Any:
            inner, keywords = jax.tree.unflatten(tree, given)
            return fn(*inner, **keywords)

        rule = rule_of(flat, leaves)
        mine = {f for t in rule.operands for d in t for f in d}
        try:
            layouts = derive(cuts, rule)
        except StrategyError as error:
            raise StrategyError(f"shard_op({_name(fn)}): {error}") from None
        cut = [_ask(x, Request(o)) for x, o in zip(leaves, layouts.operands, strict=True)]
        out, out_tree = jax.tree.flatten(flat(*cut))
        # What no input shares is left open.
        free = [tuple(d for d, f in enumerate(t) if f and not mine.issuperset(f)) for t in rule.results]
        asked = [_ask(x, Request(o, f)) for x, o, f in zip(out, layouts.results, free, strict=True)]
        return jax.tree.unflatten(out_tree, asked)

    # The wrapped function's own signature is kept, so that arguments can be given by name.
    return by_specs if strategy is None else by_strategy


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _rank(x: Any) -> int:
    return len(jax.numpy.shape(x))


def _tree(value: Any, spec: Any, where: str) -> Any:
    """`value` with `spec` asked for its arrays; a dict or sequence of specs goes with a like value."""
    if spec is None:
        return value
    if isinstance(value, Mapping) and isinstance(spec, Mapping):
        if unknown := [k for k in spec if k not in value]:
            raise SpecError(f"{where} has {unknown[0]!r}; the value has {', '.join(map(repr, value))}")
        return type(value)({k: _tree(v, spec.get(k), f"{where}[{k!r}]") for k, v in value.items()})  # type: ignore[call-arg]
    plain = isinstance(spec, tuple | list) and not isinstance(spec, PartitionSpec)
    if plain and type(value) in (tuple, list):
        if len(spec) != len(value):
            raise SpecError(f"{where} has {len(spec)} layouts; the value has {len(value)} parts")
        parts = [_tree(v, s, f"{where}[{i}]") for i, (v, s) in enumerate(zip(value, spec, strict=True))]
        return type(value)(parts)
    try:
        return shard(value, spec)
    except SpecError as error:
        raise SpecError(f"{where}: {error}") from None


def _request(spec: Any, rank: int) -> Request:
    """A user's layout for a tensor of `rank` dimensions."""
    if isinstance(spec, str):
        spec = ShardSpec.parse(spec)
    if isinstance(spec, ShardSpec):
        if spec.partial:
            raise SpecError(f"{spec} is partial; a value in a program is whole")
        if spec.rank != rank:
            raise SpecError(f"{spec} has {spec.rank} dimensions; the tensor has {rank}")
        return Request(spec)
    if isinstance(spec, NamedSharding):
        spec = spec.spec
    if isinstance(spec, TensorLayout):
        request = Request(spec)
    elif isinstance(spec, PartitionSpec | tuple | list):
        given = tuple(spec)
        if given and all(isinstance(n, int) and not isinstance(n, bool) for n in given):
            cuts = parse_slices(given)
            matrix = tuple(n for n in cuts if n > 1)
            entries = iter(range(len(matrix) - 1, -1, -1))
            request = Request(TensorLayout(matrix, tuple((next(entries),) if n > 1 else () for n in cuts)))
        else:
            request = _named(given, rank)
    else:
        raise SpecError(
            f"layout {spec!r:.80} of type {type(spec).__name__}; expected a pcg.ShardSpec, a tuple with an axis name, a"
            " tuple of names or None per dimension, a PartitionSpec, slices per dimension, or None"
        )
    if request.rank != rank:
        raise SpecError(f"{spec} has {request.rank} dimensions; the tensor has {rank}")
    return request


def _named(given: tuple[Any, ...], rank: int) -> Request:
    """Axis names per dimension; dimensions that are not named are whole."""
    if len(given) > rank:
        raise SpecError(f"{given} has {len(given)} dimensions; the tensor has {rank}")
    dims: list[tuple[str, ...]] = []
    for d in given:
        axes = () if d is None or d is PartitionSpec.UNCONSTRAINED else (d,) if isinstance(d, str) else d
        if not isinstance(axes, tuple | list) or not all(isinstance(a, str) for a in axes):
            raise SpecError(f"{given} has {d!r}; expected an axis name, a tuple of names, or None per dimension")
        dims.append(tuple(axes))
    free = tuple(i for i, d in enumerate(given) if d is PartitionSpec.UNCONSTRAINED)
    return Request(ShardSpec.of(dims + [()] * (rank - len(dims))), free)


# -- the primitive ---------------------------------------------------------------------------------

_shard_p = jex_core.Primitive("pcg_shard")
_shard_p.def_impl(lambda x, *, request: x)
_shard_p.def_abstract_eval(lambda x, *, request: x)
ad.deflinear2(_shard_p, lambda ct, _, *, request: [_shard_p.bind(ct, request=request)])


def _ask(x: Any, request: Request) -> Any:
    return _shard_p.bind(x, request=request) if isinstance(x, jax.core.Tracer) else x


def _batch(args: Sequence[Any], dims: Sequence[int], *, request: Request) -> tuple[Any, int]:
    (x,), (d,) = args, dims
    return _shard_p.bind(x, request=request.insert(d)), d


batching.primitive_batchers[_shard_p] = _batch


def _lower(ctx: Any, x: Any, *, request: Request) -> Any:
    """A sharding constraint on the mesh that pcg traces for; nothing elsewhere."""
    if (meshes := _MESHES.get()) is not None:
        assert request.mesh is not None
        asked = {"mesh": request.mesh, "spec": str(request.spec(meshes[request.mesh])), "open": list(request.free)}
        text = jax_ir.StringAttr.get(json.dumps(asked))
        return hlo.CustomCallOp([x.type], [x], REQUEST, backend_config=text).results
    mesh = _MESH.get()
    if mesh is None:
        return [x]
    known = ours(mesh)
    spec = request.spec(known)
    if refine.uses_sub_axes(spec):
        fine = refine.refinement(known, spec.used_axes)
        spec, mesh = refine.to_parts(spec, fine), jax_compat.jax_mesh(fine, list(mesh.devices.flat))
    dims: list[Any] = [tuple(d) or None for d in spec.dims]
    for d in request.free:
        dims[d] = dims[d] or PartitionSpec.UNCONSTRAINED
    sharding = NamedSharding(mesh, PartitionSpec(*dims))
    constrain = functools.partial(jax.lax.with_sharding_constraint, shardings=sharding)
    lowered = jax_mlir.lower_fun(constrain, multiple_results=False)(ctx, x)
    if request.priority:
        _prioritise(lowered[0], request.priority)
    return lowered


def _prioritise(value: Any, priority: int) -> None:
    """Give the sharding constraint that makes `value` a priority, for which a PartitionSpec has no words."""
    op = value.owner
    old = sdy.TensorShardingAttr(op.attributes["sharding"])
    dims = [sdy.DimensionShardingAttr(d) for d in old.dimension_shardings]
    # Shardy has none on an empty closed dimension: there is nothing to spread.
    dims = [sdy.DimensionShardingAttr.get(d.axes, d.is_closed, priority) if d.axes else d for d in dims]
    op.attributes["sharding"] = sdy.TensorShardingAttr.get(old.mesh_or_ref, dims)


jax_mlir.register_lowering(_shard_p, _lower)


# -- what tracing needs ----------------------------------------------------------------------------


def ours(mesh: jax.sharding.Mesh) -> Mesh:
    """A jax mesh as ours."""
    return Mesh.of(dict(mesh.shape))


@contextmanager
def on(mesh: jax.sharding.Mesh | None) -> Iterator[None]:
    """A context in which requests become constraints on `mesh`."""
    token = _MESH.set(mesh)
    try:
        yield
    finally:
        _MESH.reset(token)


@contextmanager
def on_several(meshes: Mapping[str, Mesh] | None) -> Iterator[None]:
    """A context in which requests become custom calls that name one of `meshes`."""
    token = _MESHES.set(meshes)
    try:
        yield
    finally:
        _MESHES.reset(token)


def requests(jaxpr: Any) -> Iterator[tuple[Any, Request]]:
    """The requests in a jaxpr and the jaxprs inside it, each with its equation."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in jaxpr.eqns:
        if eqn.primitive is _shard_p:
            yield eqn, eqn.params["request"]
        for inner in jex_core.jaxprs_in_params(eqn.params):
            yield from requests(inner)


def matrices(jaxpr: Any) -> list[tuple[int, ...]]:
    """The device matrices that the requests in a jaxpr need."""
    found = (r.layout.device_matrix for _, r in requests(jaxpr) if isinstance(r.layout, TensorLayout))
    return list(dict.fromkeys(found))


def check(jaxpr: Any, mesh: jax.sharding.Mesh) -> None:
    """Raise ProgramError, with the user's line, if `mesh` cannot fulfil a request."""
    ours_ = ours(mesh)
    for eqn, request in requests(jaxpr):
        if request.mesh is not None:
            where = source_info_util.summarize(eqn.source_info)
            raise ProgramError(
                f"{where}: pcg.shard: mesh {request.mesh!r}: the program is compiled for one mesh; leave mesh out,"
                " or use pcg.processes.lower for several"
            )
        try:
            refine.check(request.spec(ours_), ours_, eqn.invars[0].aval.shape)
        except (SpecError, StrategyError) as error:
            raise ProgramError(f"{source_info_util.summarize(eqn.source_info)}: pcg.shard: {error}") from None


def check_several(jaxpr: Any, meshes: Mapping[str, Mesh]) -> None:
    """Raise ProgramError, with the user's line, if a request names none of `meshes`, or not what that has."""
    for eqn, request in requests(jaxpr):
        where = f"{source_info_util.summarize(eqn.source_info)}: pcg.shard"
        if request.mesh is None or request.mesh not in meshes:
            known = ", ".join(map(repr, meshes))
            what = "no mesh is named" if request.mesh is None else f"there is no mesh {request.mesh!r}"
            raise ProgramError(f"{where}: {what}; meshes of this program: {known}")
        try:
            request.spec(meshes[request.mesh]).check(meshes[request.mesh], eqn.invars[0].aval.shape)
        except (SpecError, StrategyError) as error:
            raise ProgramError(f"{where}: on mesh {request.mesh!r}: {error}") from None
