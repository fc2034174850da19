"""Layout constraints inside a jax function: `pcg.shard` and `pcg.shard_op`.

A constraint is an identity primitive that any jax transformation passes on (the derivative has the same constraint,
the batched form leaves the new dimension open).  Where `pcg.compile` traces, it becomes a sharding constraint on the
mesh; anywhere else it vanishes.  Imports jax.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

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

#: The mesh that pcg traces for, or several by name.
Target: TypeAlias = "jax.sharding.Mesh | jax.sharding.AbstractMesh | Mapping[str, Mesh]"
_ONE_MESH = (jax.sharding.Mesh, jax.sharding.AbstractMesh)
_TARGET: ContextVar[Target | None] = ContextVar("pcg_target", default=None)
#: What a constraint becomes in a program on several meshes: a custom call with the layout as JSON.
SHARD_CALL = "pcg.shard"


@dataclass(frozen=True)
class Constraint:
    """The layout that a user demands of one tensor: the axes of each dimension, or slices in a device matrix.

    Dimensions in `free` may be split further; the others are exact.  `mesh` is the name of the mesh, in a program on
    several; `priority` is that of every dimension (see `shard`).
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
        """The layout by the axes of `mesh`.

        Raises:
          StrategyError: the mesh cannot express the slices.
        """
        return self.layout if isinstance(self.layout, ShardSpec) else self.layout.spec(mesh)

    def insert(self, dim: int) -> Constraint:
        """The constraint for a tensor with one more dimension, which is free, at `dim`."""
        layout = self.layout
        if isinstance(layout, ShardSpec):
            layout = ShardSpec((*layout.dims[:dim], (), *layout.dims[dim:]))
        else:
            layout = layout.insert(dim)
        return Constraint(layout, tuple(sorted((dim, *(d + (d >= dim) for d in self.free)))), self.mesh, self.priority)


# -- what users call -------------------------------------------------------------------------------


def shard(x: Any, spec: Any, *, mesh: str | None = None, priority: int = 0) -> Any:
    """Demand that `x` have the layout `spec` at this point of the program; the values do not change.

    Args:
      x: an array that is being traced, or a tree of them, each of which gets `spec`.
      spec: a `pcg.ShardSpec` or its text (`"[data, -]"`); a tuple like a PartitionSpec, per dimension an
        axis name, a tuple of them, or None for an unsplit dimension (trailing dimensions too);
        an axis may be a sub-axis, `"x:(1)2"`: the major 2 of `x`;
        a PartitionSpec or a NamedSharding; a tuple of numbers, the slices per dimension; or None: no
        constraint.
      mesh: name of the mesh, in a program on several (`pcg.processes.lower`).  With `spec` None, `x` is to be on
        that mesh in whatever layout.
      priority: with `strategy="priority"`, the round in which this layout spreads to other values: 0 is first.  It
        is kept in any case.

    Returns:
      `x`.  Outside of `pcg.compile` a constraint has no effect.

    Raises:
      SpecError: `spec` is none of these, or has not the rank of `x`; `priority` is not a number from 0.
    """
    if isinstance(priority, bool) or not isinstance(priority, int) or priority < 0:
        raise SpecError(f"priority {priority!r}; expected 0, 1, 2, ...")
    if spec is None and mesh is None:
        return x

    def constraint(rank: int) -> Constraint:
        if spec is None:
            return Constraint(ShardSpec.replicated(rank), tuple(range(rank)), mesh)
        return replace(_constraint(spec, rank), mesh=mesh, priority=priority)

    return jax.tree.map(lambda leaf: _constrain(leaf, constraint(_rank(leaf))), x)


def shard_op(
    fn: Callable[..., Any], in_specs: Any = None, out_specs: Any = None, *, strategy: Any = None
) -> Callable[..., Any]:
    """`fn` (an operation or a module) with constraints on the layouts of its inputs and outputs.

    Args:
      fn: any function of arrays, or trees of them, that jax can trace.
      in_specs: one layout (see `shard`) per positional argument, None for an argument left free.  For an
        argument that is a dict, list or tuple: one layout for all its arrays, or the same structure of layouts.
      out_specs: the same for what `fn` returns.
      strategy: instead, as MindSpore writes it: slices per dimension of each input array, in order,
        `((2,1),(1,4))`.  The layouts of inputs and outputs follow from the factors of the operation.

    Returns:
      A function like `fn`.  Outside of `pcg.compile` it does what `fn` does.

    Raises:
      StrategyError: `strategy` and layouts; when called: the strategy does not fit the inputs.
      SpecError: when called: a layout does not fit an argument.
    """
    if strategy is not None:
        if in_specs is not None or out_specs is not None:
            raise StrategyError("shard_op takes in_specs and out_specs, or a strategy; got both")
        slices = parse_strategy(strategy)
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

        def flat(*arrays: Any) -> Any:
            inner, keywords = jax.tree.unflatten(tree, arrays)
            return fn(*inner, **keywords)

        rule = rule_of(flat, leaves)
        mine = {f for t in rule.operands for d in t for f in d}
        try:
            layouts = derive(slices, rule)
        except StrategyError as error:
            raise StrategyError(f"shard_op({_name(fn)}): {error}") from None
        constrained_inputs = [_constrain(x, Constraint(o)) for x, o in zip(leaves, layouts.operands, strict=True)]
        out, out_tree = jax.tree.flatten(flat(*constrained_inputs))
        # A dimension that no input has is free.
        free = [tuple(d for d, f in enumerate(t) if f and not mine.issuperset(f)) for t in rule.results]
        constrained = [_constrain(x, Constraint(o, f)) for x, o, f in zip(out, layouts.results, free, strict=True)]
        return jax.tree.unflatten(out_tree, constrained)

    # The wrapped function keeps its signature, so that arguments can be passed by name.
    return by_specs if strategy is None else by_strategy


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _rank(x: Any) -> int:
    return len(jax.numpy.shape(x))


def _tree(value: Any, spec: Any, where: str) -> Any:
    """`value` with its arrays constrained to `spec`; a dict or sequence of specs is for a value of that structure."""
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


def _constraint(spec: Any, rank: int) -> Constraint:
    """A user's layout for a tensor of `rank` dimensions."""
    if isinstance(spec, str):
        spec = ShardSpec.parse(spec)
    if isinstance(spec, ShardSpec):
        if spec.partial:
            raise SpecError(f"{spec} is partial; allowed: a layout without partial axes")
        if spec.rank != rank:
            raise SpecError(f"{spec} has {spec.rank} dimensions; the tensor has {rank}")
        return Constraint(spec)
    if isinstance(spec, NamedSharding):
        spec = spec.spec
    if isinstance(spec, TensorLayout):
        constraint = Constraint(spec)
    elif isinstance(spec, PartitionSpec | tuple | list):
        entries = tuple(spec)
        if entries and all(isinstance(n, int) and not isinstance(n, bool) for n in entries):
            slices = parse_slices(entries)
            matrix = tuple(n for n in slices if n > 1)
            numbers = iter(range(len(matrix) - 1, -1, -1))
            constraint = Constraint(TensorLayout(matrix, tuple((next(numbers),) if n > 1 else () for n in slices)))
        else:
            constraint = _named(entries, rank)
    else:
        raise SpecError(
            f"layout {spec!r:.80} of type {type(spec).__name__}; expected a pcg.ShardSpec, a tuple with an axis name, a"
            " tuple of names or None per dimension, a PartitionSpec, slices per dimension, or None"
        )
    if constraint.rank != rank:
        raise SpecError(f"{spec} has {constraint.rank} dimensions; the tensor has {rank}")
    return constraint


def _named(entries: tuple[Any, ...], rank: int) -> Constraint:
    """Axis names per dimension; dimensions that are not named are unsplit."""
    if len(entries) > rank:
        raise SpecError(f"{entries} has {len(entries)} dimensions; the tensor has {rank}")
    dims: list[tuple[str, ...]] = []
    for d in entries:
        axes = () if d is None or d is PartitionSpec.UNCONSTRAINED else (d,) if isinstance(d, str) else d
        if not isinstance(axes, tuple | list) or not all(isinstance(a, str) for a in axes):
            raise SpecError(f"{entries} has {d!r}; expected an axis name, a tuple of names, or None per dimension")
        dims.append(tuple(axes))
    free = tuple(i for i, d in enumerate(entries) if d is PartitionSpec.UNCONSTRAINED)
    return Constraint(ShardSpec.of(dims + [()] * (rank - len(dims))), free)


# -- the primitive ---------------------------------------------------------------------------------

_shard_p = jex_core.Primitive("pcg_shard")
_shard_p.def_impl(lambda x, *, constraint: x)
_shard_p.def_abstract_eval(lambda x, *, constraint: x)
ad.deflinear2(_shard_p, lambda ct, _, *, constraint: [_shard_p.bind(ct, constraint=constraint)])


def _constrain(x: Any, constraint: Constraint) -> Any:
    return _shard_p.bind(x, constraint=constraint) if isinstance(x, jax.core.Tracer) else x


def _batch(args: Sequence[Any], dims: Sequence[int], *, constraint: Constraint) -> tuple[Any, int]:
    (x,), (d,) = args, dims
    return _shard_p.bind(x, constraint=constraint.insert(d)), d


batching.primitive_batchers[_shard_p] = _batch


def _lower(ctx: Any, x: Any, *, constraint: Constraint) -> Any:
    """A sharding constraint on the mesh that pcg traces for; nothing elsewhere."""
    mesh = _TARGET.get()
    if mesh is None:
        return [x]
    if not isinstance(mesh, _ONE_MESH):
        assert constraint.mesh is not None
        spec = constraint.spec(mesh[constraint.mesh])
        text = json.dumps({"mesh": constraint.mesh, "spec": str(spec), "open": list(constraint.free)})
        return hlo.CustomCallOp([x.type], [x], SHARD_CALL, backend_config=jax_ir.StringAttr.get(text)).results
    known = ours(mesh)
    spec = constraint.spec(known)
    if refine.uses_sub_axes(spec):
        fine = refine.refinement(known, spec.used_axes)
        devices = list(mesh.devices.flat) if isinstance(mesh, jax.sharding.Mesh) else [None] * fine.size
        spec, mesh = refine.to_parts(spec, fine), jax_compat.jax_mesh(fine, devices)
    dims: list[Any] = [tuple(d) or None for d in spec.dims]
    for d in constraint.free:
        dims[d] = dims[d] or PartitionSpec.UNCONSTRAINED
    sharding = NamedSharding(mesh, PartitionSpec(*dims))
    constrain = functools.partial(jax.lax.with_sharding_constraint, shardings=sharding)
    lowered = jax_mlir.lower_fun(constrain, multiple_results=False)(ctx, x)
    if constraint.priority:
        _prioritise(lowered[0], constraint.priority)
    return lowered


def _prioritise(value: Any, priority: int) -> None:
    """Give the sharding constraint that defines `value` a priority, which a PartitionSpec cannot express."""
    op = value.owner
    old = sdy.TensorShardingAttr(op.attributes["sharding"])
    dims = [sdy.DimensionShardingAttr(d) for d in old.dimension_shardings]
    # Shardy has none on an empty closed dimension: there is nothing to spread.
    dims = [sdy.DimensionShardingAttr.get(d.axes, d.is_closed, priority) if d.axes else d for d in dims]
    op.attributes["sharding"] = sdy.TensorShardingAttr.get(old.mesh_or_ref, dims)


jax_mlir.register_lowering(_shard_p, _lower)


# -- what tracing needs ----------------------------------------------------------------------------


def ours(mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh) -> Mesh:
    """A jax mesh as ours."""
    return Mesh.of(dict(mesh.shape))


@contextmanager
def tracing_for(target: Target | None) -> Iterator[None]:
    """A context in which constraints are lowered: to jax's for one mesh, to custom calls for several."""
    token = _TARGET.set(target)
    try:
        yield
    finally:
        _TARGET.reset(token)


def constraints(jaxpr: Any) -> Iterator[tuple[Any, Constraint]]:
    """The constraints in a jaxpr and the jaxprs inside it, each with its equation."""
    for eqn in jax_compat.equations(jaxpr):
        if eqn.primitive is _shard_p:
            yield eqn, eqn.params["constraint"]


def device_matrices(jaxpr: Any) -> list[tuple[int, ...]]:
    """The device matrices that the constraints in a jaxpr need."""
    found = (r.layout.device_matrix for _, r in constraints(jaxpr) if isinstance(r.layout, TensorLayout))
    return list(dict.fromkeys(found))


def check(jaxpr: Any, target: Target) -> None:
    """Raise ProgramError, with the user's line, if a constraint does not fit the mesh, or names none of several."""
    single = ours(target) if isinstance(target, _ONE_MESH) else None
    meshes = {} if isinstance(target, _ONE_MESH) else target
    for eqn, constraint in constraints(jaxpr):
        where, name = f"{source_info_util.summarize(eqn.source_info)}: pcg.shard", constraint.mesh
        if single is not None and name is not None:
            raise ProgramError(
                f"{where}: mesh {name!r}: the program is compiled for one mesh; leave mesh out, or use"
                " pcg.processes.lower for several"
            )
        if single is None and name not in meshes:
            what = "no mesh is named" if name is None else f"there is no mesh {name!r}"
            raise ProgramError(f"{where}: {what}; meshes of this program: {', '.join(map(repr, meshes))}")
        shape = eqn.invars[0].aval.shape
        try:
            if single is not None:
                refine.check(constraint.spec(single), single, shape)
            elif name is not None:
                constraint.spec(meshes[name]).check(meshes[name], shape)
        except (SpecError, StrategyError) as error:
            raise ProgramError(f"{where}: {'' if name is None else f'on mesh {name!r}: '}{error}") from None
