"""What `dist` and `pcg` attributes may say, checked before any pass reads them.

MLIR's verifiers see one op at a time: that a layout names a mesh which the module declares, has the rank of its tensor
or sits in an attribute of the right kind is checked here, once, at the door (`pcg.ir.parse.load_module`, and behind
passes that do not know these attributes).  Passes and `pcg.ir.shardings` rely on it.  Whether layouts fit together is
the business of `dist-verify`.  The numbers (V1, ...) are those of docs/reference/semantics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from pcg.dialects.dist import ShardSpecAttr
from pcg.ir import annotation, mesh_names, shardings
from pcg.ir.check_lowered import check_lowered
from pcg.ir.errors import PcgError
from pcg.ir.identities import check_partial
from pcg.ir.walk import body, entry, functions, walk, with_depth
from pcg.layout import Mesh, ShardSpec, SpecError, refine

#: Regions inside of each other that passes follow.
DEEPEST = 64
#: Ops that move a value along `axes` of the mesh.
ALONG_AXES = frozenset(
    ("pcg.partition", "pcg.combine", "pcg.replicate", "pcg.reduce", "pcg.mask", "dist.all_reduce", "dist.all_gather",
     "dist.reduce_scatter", "dist.all_to_all", "dist.mask", "dist.slice")
)  # fmt: skip
#: Attributes of functions, and of ops, that are read here; an op with none of them is done quickly.
_ON_OPS = (
    shardings.SPECS, shardings.OPERAND_SPECS, shardings.OPEN, shardings.PRIORITIES, mesh_names.ON,
    annotation.ANNOTATED, annotation.ENGINE, annotation.STATE,
)  # fmt: skip
#: Unregistered ops: operands, results (None: any number), attributes that are needed, regions.
_SDY: dict[str, tuple[int | None, int | None, tuple[str, ...], int]] = {
    "sdy.mesh": (0, 0, ("sym_name", "mesh"), 0),
    "sdy.sharding_constraint": (1, 1, ("sharding",), 0),
    "sdy.reshard": (1, 1, ("sharding",), 0),
    "sdy.propagation_barrier": (1, 1, (), 0),
    "sdy.sharding_group": (1, 0, ("group_id",), 0),
    "sdy.manual_computation": (None, None, ("in_shardings", "out_shardings", "manual_axes"), 2),
}


def check(module: ir.Module | ir.Operation, outer: dict[str, Mesh] | None = None) -> None:
    """Raises PcgError, at the op, for the first attribute that is not what it must be."""
    found = _Check(module.operation, outer)
    try:
        found.run()
    except TypeError as error:
        if "Location" not in str(error):
            raise
        # The bindings cannot give a location that is an attribute, and some ways to ask for it end the process.
        text = "an attribute has a location as value; allowed: any other attribute"
        raise PcgError(text, found.at.location) from None


def check_axes(module: ir.Module | ir.Operation) -> None:
    """Raises PcgError, at the op, for the first layout that names a part of an axis which the mesh does not have."""
    meshes = shardings.meshes_of(module)
    fine: set[ir.Attribute] = set()
    for op in walk(module.operation):
        attrs = op.attributes
        every = [attrs[name] for name in mesh_names.LAYOUTS if name in attrs]
        if fine.issuperset(every) and op.name != "func.func":
            continue
        fine.update(every)
        for what, attr in mesh_names.layouts_at(op):
            mesh = meshes.get(shardings.mesh_symbol(attr))
            for axis in shardings.from_attr(attr).used_axes:
                if mesh is not None and axis not in mesh.names:
                    known = ", ".join(map(repr, mesh.names))
                    text = f"{what} of '{op.name}' names {axis!r}; the mesh has {known}"
                    raise PcgError(f"{text} (dist-refine-mesh makes axes of the parts that are named)", op.location)


class _Check:
    """The check of one module; modules inside of it are checked by themselves, with its meshes."""

    def __init__(self, module: ir.Operation, outer: dict[str, Mesh] | None = None) -> None:
        self.module = module
        self.meshes = (outer or {}) | shardings.meshes_of(module)
        #: The op that is looked at.
        self.at = module
        self._fine: dict[tuple[ir.Attribute, ir.Type], ShardSpec] = {}

    def run(self) -> None:
        inner: list[ir.Operation] = []
        for op in body(self.module).operations:
            op = op.operation
            if op.name == "builtin.module":
                inner.append(op)
            elif op.name == "func.func":
                self.function(op)
            else:
                self.at = op
                self.sdy(op)
                self.attributes(op)
        names = [ir.StringAttr(f.attributes["sym_name"]).value for f in functions(self.module)]
        main = entry(self.module)
        if main is not None and not len(main.regions[0].blocks):
            name = ir.StringAttr(main.attributes["sym_name"]).value
            raise PcgError(f"function '{name}' has no body; allowed for what the module runs: one", main.location)
        if clash := set(names) & set(self.meshes):
            found = next(f for f, n in zip(functions(self.module), names, strict=True) if n in clash)
            text = f"function '{min(clash)}' has the name of a mesh; allowed: another"
            raise PcgError(text, found.location)
        for module in inner:
            check(module, self.meshes)
        check_lowered(self.module)
        for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
            if name in self.module.attributes and not isinstance(self.module.attributes[name], ir.IntegerAttr):
                text = f"{name} is {_short(self.module.attributes[name])}; allowed: an integer"
                raise PcgError(text, self.module.location)

    # -- functions -------------------------------------------------------------------------------

    def function(self, func: ir.Operation) -> None:
        self.at = func
        symbol = ir.StringAttr(func.attributes["sym_name"]).value
        blocks = list(func.regions[0].blocks)
        if len(blocks) > 1:
            raise PcgError(f"function '{symbol}' has {len(blocks)} blocks; allowed: one", func.location)
        kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        inputs, results = list(kind.inputs), list(kind.results)  # a new list each time that they are asked for
        for where, what, types in (("arg_attrs", "argument", inputs), ("res_attrs", "result", results)):
            if where not in func.attributes:
                continue
            for i, (own, type_) in enumerate(zip(func.attributes[where], types, strict=True)):
                if len(own):
                    for k in range(len(own)):
                        own[own[k].name]  # all of them are read when one of them is changed
                    self.signature(func, f"{what} {i} of function '{symbol}'", own, type_)
                if what == "argument" and "tf.aliasing_output" in own:
                    text = f"{what} {i} of function '{symbol}': tf.aliasing_output"
                    self.number(func, text, own["tf.aliasing_output"], results)
                if what == "result" and "pcg.state" in own:
                    self.number(func, f"{what} {i} of function '{symbol}': pcg.state", own["pcg.state"], inputs)
        for name in func.attributes:
            func.attributes[name]  # lowering copies them all
        self.annotations(func, {"argument": len(inputs), "result": len(results)})
        for name, what, wanted in (
            ("pcg.microbatches", "an integer from 1", ir.IntegerAttr), ("pcg.memory_limit", "a float", ir.FloatAttr)
        ):  # fmt: skip
            if name in func.attributes:
                attr = func.attributes[name]
                if not isinstance(attr, wanted) or name == "pcg.microbatches" and attr.value < 1:
                    raise PcgError(f"{name} of function '{symbol}' is {_short(attr)}; allowed: {what}", func.location)
        for name, types in (("pcg.stacked_arguments", inputs), ("pcg.stacked_results", results)):
            if name in func.attributes:
                self.counts(func, f"{name} of function '{symbol}'", func.attributes[name], len(types))
        self.ops(func)

    def counts(self, func: ir.Operation, what: str, attr: ir.Attribute, total: int) -> None:
        """Numbers of values that one each became, 0 for a value that stays: `total` together."""
        counts = list(attr) if isinstance(attr, ir.DenseI64ArrayAttr) else [-1]
        if min(counts, default=0) < 0 or sum(n or 1 for n in counts) != total:
            text = f"allowed: array<i64: ...> of numbers from 0, which, 0 taken for 1, add up to {total}"
            raise PcgError(f"{what} is {_short(attr)}; {text}", func.location)

    def signature(self, func: ir.Operation, what: str, own: ir.DictAttr, type_: ir.Type) -> None:
        """The attributes of one argument or result of a function."""
        spec = None
        if shardings.SPEC in own:
            spec = self.layout(func, what, own[shardings.SPEC], type_)
            if spec.partial:  # V9
                axes = ", ".join(map(repr, spec.partial_axes))
                text = f"{what} has layout {spec}, which is partial over {axes}; allowed: no partial axes"
                raise PcgError(text, func.location)
        rank = type_.rank if isinstance(type_, ir.RankedTensorType) else None
        for name in (shardings.OPEN, shardings.PRIORITIES):
            if name in own:
                self.numbers(func, f"{what}: {name}", own[name], name, rank)
        if mesh_names.ON in own:
            self.mesh_symbol(func, f"{what}: {mesh_names.ON}", own[mesh_names.ON])

    def number(self, func: ir.Operation, what: str, attr: ir.Attribute, of: Sequence[ir.Type]) -> None:
        if not isinstance(attr, ir.IntegerAttr) or not 0 <= attr.value < len(of):
            allowed = f"0 to {len(of) - 1}" if len(of) else "nothing"
            raise PcgError(f"{what} is {_short(attr)}; allowed: {allowed}", func.location)

    # -- ops -------------------------------------------------------------------------------------

    def ops(self, func: ir.Operation) -> None:
        """The ops of a function."""
        for op, depth in with_depth(func):
            self.op(op)
            if depth >= DEEPEST and len(op.regions):
                text = f"'{op.name}' is nested {depth + 1} regions deep; allowed: {DEEPEST}"
                raise PcgError(text, op.location)

    def op(self, op: ir.Operation) -> None:
        name, self.at = op.name, op
        if name.startswith(("dist.", "pcg.", "sdy.", "builtin.")):
            self.own(op)
        self.attributes(op)
        if name == "stablehlo.custom_call":
            self.manual(op)

    def attributes(self, op: ir.Operation) -> None:
        name, attrs = op.name, op.attributes
        if not len(attrs):
            return
        found = [n for n in _ON_OPS if n in attrs]
        for n in found:
            attr = attrs[n]
            if n == shardings.SPECS:
                self.layouts(op, n, attr, "result", op.results)
            elif n == shardings.OPERAND_SPECS:
                self.layouts(op, n, attr, "operand", op.operands)
            elif n in (shardings.OPEN, shardings.PRIORITIES):
                one = len(op.results) == 1 and isinstance(op.results[0].type, ir.RankedTensorType)
                self.numbers(op, f"'{name}': {n}", attr, n, op.results[0].type.rank if one else None)
            elif n == mesh_names.ON:
                self.mesh_symbol(op, f"'{name}': {n}", attr)
            else:
                self.annotations(op, {"result": len(op.results), "argument": 0})

    def own(self, op: ir.Operation) -> None:
        """Ops of the dialects `dist` and `pcg`, and those of `sdy`, which nobody verifies."""
        name = op.name
        if name in ("dist.mesh", "sdy.mesh", "builtin.module"):
            raise PcgError(f"'{name}' inside of a function; allowed: at the top of the module", op.location)
        if name.startswith("sdy."):
            self.sdy(op)
        elif name in shardings.CONSTRAINTS or name in ("pcg.send", "pcg.receive"):
            value = op.operands[0] if len(op.operands) else op.results[0]
            self.layout(op, f"spec of '{name}'", op.attributes["spec"], value.type)
        elif name in ALONG_AXES:
            if not self.meshes:
                raise PcgError(f"'{name}' moves a value along axes; the module has no dist.mesh", op.location)
            known = {n for mesh in self.meshes.values() for n in mesh.names}
            for axis in (ir.StringAttr(a).value for a in op.attributes["axes"]):
                if axis not in known:
                    meshes = list(self.meshes.values())
                    axes = ", ".join(map(repr, meshes[0].names if len(meshes) == 1 else sorted(known)))
                    raise PcgError(f"'{name}': unknown axis {axis!r}; the mesh has {axes}", op.location)
        elif name in ("pcg.dispatch", "pcg.collect", "pcg.collect_back"):
            self.layout(op, f"spec of '{name}'", op.attributes["spec"], ir.TypeAttr(op.attributes["type"]).value)
            if name != "pcg.dispatch":
                self.ends(op, shardings.OUT_SPECS, op.results)
        elif name in ("pcg.stage", "pcg.transfer", "pcg.exchange", "pcg.exchange_back"):
            self.mesh_symbol(op, f"'{name}': mesh", op.attributes["mesh"])
            if name == "pcg.stage":
                self.stage(op)
            elif name != "pcg.transfer":
                self.ends(op, shardings.IN_SPECS, op.operands)
                self.ends(op, shardings.OUT_SPECS, op.results)

    def ends(self, op: ir.Operation, name: str, values: Sequence[ir.Value]) -> None:
        """An op between slices says a layout of each value."""
        if name not in op.attributes:
            raise PcgError(f"'{op.name}' has no {name}; allowed: a list of {len(values)} layouts", op.location)
        self.array(op, name, op.attributes[name], [v.type for v in values], "value")

    def stage(self, op: ir.Operation) -> None:
        """P9, P10: a stage takes and yields tuples that are made where it stands, and is not inside of an op."""
        parent = op.parent
        if parent is None or parent.operation.name != "func.func":
            raise PcgError("'pcg.stage' inside of another op; allowed: in the body of a function", op.location)
        last = op.regions[0].blocks[0].operations[-1].operation
        for what, value in (("takes", op.operands[0]), ("yields", last.operands[0])):
            defining = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            if defining is None or defining.name != "stablehlo.tuple":
                raise PcgError(f"'pcg.stage' {what} {value.type}; allowed: what a 'stablehlo.tuple' makes", op.location)
        before = list(op.regions[0].blocks[0].operations)[-2].operation
        if before != last.operands[0].owner.operation or len(list(last.operands[0].uses)) != 1:
            raise PcgError("'pcg.yield' does not follow the 'stablehlo.tuple' that it yields", last.location)
        for use in op.results[0].uses:
            reader = use.owner.operation
            if reader.name != "stablehlo.get_tuple_element":
                text = f"'{reader.name}' reads the results of a 'pcg.stage'; allowed: 'stablehlo.get_tuple_element'"
                raise PcgError(text, reader.location)
        for name, value in ((shardings.IN_SPECS, op.operands[0]), (shardings.OUT_SPECS, op.results[0])):
            if name in op.attributes:
                tuple_ = ir.TupleType(value.type)
                types = [tuple_.get_type(i) for i in range(tuple_.num_types)]
                self.array(op, name, op.attributes[name], types, "value")

    def manual(self, op: ir.Operation) -> None:
        """`@dist.manual` calls one function on the shards that it says."""
        attrs = op.attributes
        if ir.StringAttr(attrs["call_target_name"]).value != "dist.manual":
            return
        for name, values in (("in_specs", op.operands), ("out_specs", op.results)):
            if name not in attrs:
                raise PcgError(f"'@dist.manual' has no {name}; allowed: one layout per value", op.location)
            self.array(op, name, attrs[name], [v.type for v in values], "value", unknown=False)
        called = attrs["called_computations"] if "called_computations" in attrs else None
        names = [str(a) for a in called] if isinstance(called, ir.ArrayAttr) else []
        known = {"@" + ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(self.module)}
        if len(names) != 1 or names[0] not in known or len(known[names[0]].regions[0].blocks) != 1:
            raise PcgError(f"'@dist.manual' calls {', '.join(names) or 'nothing'}; allowed: one function", op.location)
        func = known[names[0]]
        kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        if len(kind.inputs) != len(op.operands) or len(kind.results) != len(op.results):
            text = f"'@dist.manual' has {len(op.operands)} operands and {len(op.results)} results, {names[0]} has"
            raise PcgError(f"{text} {len(kind.inputs)} and {len(kind.results)}", op.location)
        if "repeats" in attrs and not isinstance(attrs["repeats"], ir.IntegerAttr):
            raise PcgError(f"'@dist.manual': repeats is {attrs['repeats']}; allowed: an integer", op.location)

    def sdy(self, op: ir.Operation) -> None:
        if op.name not in _SDY:
            return  # sdy-import says what is allowed
        operands, results, needed, regions = _SDY[op.name]
        for what, have, want in (
            ("operands", len(op.operands), operands), ("results", len(op.results), results),
            ("regions", len(op.regions), regions),
        ):  # fmt: skip
            if want is not None and have != want and not (what == "regions" and regions):
                raise PcgError(f"'{op.name}' op has {have} {what}; allowed: {want}", op.location)
        if regions and (not len(op.regions) or len(op.regions[0].blocks) != 1):
            raise PcgError(f"'{op.name}' op has no body; allowed: a region of one block", op.location)
        for name in needed:
            if name not in op.attributes:
                raise PcgError(f"'{op.name}' op has no attribute '{name}'", op.location)
        if "sym_name" in needed and not isinstance(op.attributes["sym_name"], ir.StringAttr):
            raise PcgError(f"'{op.name}' op: sym_name is {op.attributes['sym_name']}; allowed: text", op.location)

    # -- attributes ------------------------------------------------------------------------------

    def layouts(self, op: ir.Operation, name: str, attr: ir.Attribute, what: str, values: Sequence[ir.Value]) -> None:
        """V5: one entry per value."""
        if not isinstance(attr, ir.ArrayAttr) or len(attr) != len(values):
            have = len(attr) if isinstance(attr, ir.ArrayAttr) else str(attr)
            text = f"'{op.name}' has {len(values)} {what}s but {have} entries in {name}"
            raise PcgError(text, op.location)
        self.array(op, name, attr, [v.type for v in values], what)

    def array(
        self, op: ir.Operation, name: str, attr: ir.Attribute, types: Sequence[ir.Type], what: str, unknown: bool = True
    ) -> None:
        if not isinstance(attr, ir.ArrayAttr) or len(attr) != len(types):
            text = f"'{op.name}': {name} is {_short(attr)}; allowed: a list of {len(types)} layouts"
            raise PcgError(text, op.location)
        for i, (entry_, type_) in enumerate(zip(attr, types, strict=True)):
            if not (unknown and isinstance(entry_, ir.UnitAttr)):
                self.layout(op, f"{what} {i} of '{op.name}'", entry_, type_)

    def layout(self, op: ir.Operation, what: str, attr: ir.Attribute, type_: ir.Type) -> ShardSpec:
        """V1 to V3: a layout, on a mesh of the module, of a value of this type."""
        if (found := self._fine.get((attr, type_))) is not None:
            return found
        shape = tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else None
        try:
            spec = shardings.from_attr(attr)
        except ValueError as error:
            raise PcgError(f"{what}: {_short(error)}", op.location) from None
        symbol = shardings.mesh_symbol(attr)
        if symbol not in self.meshes:
            declared = ", ".join("@" + n for n in self.meshes) or "none"
            raise PcgError(f"{what} has a layout on @{symbol}; declared meshes: {declared}", op.location)
        try:
            refine.check(spec, self.meshes[symbol], shape if shape is not None else ())
            check_partial(spec, type_)
        except SpecError as error:
            raise PcgError(f"{what} ({type_}) has layout {spec}: {error}", op.location) from None
        self._fine[attr, type_] = spec
        return spec

    def numbers(self, op: ir.Operation, what: str, attr: ir.Attribute, name: str, rank: int | None) -> None:
        """Open dimensions are some of a tensor's, priorities one for each."""
        found = list(attr) if isinstance(attr, ir.ArrayAttr) else [None]
        values = [a.value if isinstance(a, ir.IntegerAttr) else -1 for a in found]
        known = rank if rank is not None else 0
        if name == shardings.OPEN:
            good, allowed = all(0 <= v < known for v in values), f"a list of dimensions, 0 to {known - 1}"
        else:
            good, allowed = len(values) == known and min(values, default=0) >= 0, f"{known} numbers from 0"
        if not good:
            allowed = allowed if known else "nothing, it has no dimensions"
            raise PcgError(f"{what} is {_short(attr)}; allowed: {allowed}", op.location)

    def mesh_symbol(self, op: ir.Operation, what: str, attr: ir.Attribute) -> None:
        known = [f"@{n}" for n in self.meshes]
        if not isinstance(attr, ir.FlatSymbolRefAttr) or attr.value not in self.meshes:
            raise PcgError(f"{what} is {_short(attr)}; declared meshes: {', '.join(known) or 'none'}", op.location)

    def annotations(self, op: ir.Operation, counts: dict[str, int]) -> None:
        """`dist.annotated`, `dist.engine` and `dist.state`."""
        attrs = op.attributes
        if annotation.ENGINE in attrs and not isinstance(attrs[annotation.ENGINE], ir.StringAttr):
            raise PcgError(f"{annotation.ENGINE} is {_short(attrs[annotation.ENGINE])}; allowed: text", op.location)
        if annotation.STATE in attrs:
            state = attrs[annotation.STATE]
            pairs = list(state) if isinstance(state, ir.DenseI64ArrayAttr) else [-1]
            limits = (counts["result"], counts["argument"])
            if len(pairs) % 2 or any(not 0 <= n < limits[i % 2] for i, n in enumerate(pairs)):
                text = f"{annotation.STATE} is {_short(state)}; allowed: array<i64: result, argument, ...>"
                raise PcgError(text, op.location)
        if annotation.ANNOTATED not in attrs:
            return
        recorded = attrs[annotation.ANNOTATED]
        for entry_ in recorded if isinstance(recorded, ir.ArrayAttr) else [recorded]:
            items: list[Any] = list(entry_) if isinstance(entry_, ir.ArrayAttr) else []
            if len(items) == 3 and isinstance(items[0], ir.StringAttr) and isinstance(items[2], ir.StringAttr):
                slot, _, number = items[0].value.partition(" ")
                known = slot in counts and number.isdecimal() and len(number) < 9 and int(number) < counts[slot]
                if known and isinstance(items[1], ShardSpecAttr):
                    continue
            text = f"{annotation.ANNOTATED} has {_short(entry_)}; allowed: [an argument or result, a layout, text]"
            raise PcgError(text, op.location)


def _short(what: Any) -> str:
    text = " ".join(str(what).split())
    return text if len(text) <= 160 else text[:150] + "..."
