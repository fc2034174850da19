"""The dist-strip pass."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.stages import inline_stage
from pcg.ir.walk import functions, walk
from pcg.passes.base import Pass
from pcg.rules.manual import is_manual

#: Identities on the logical value: the program is the same without them.
_IDENTITIES = ("dist.", "pcg.")


class StripPass(Pass):
    """Remove placement: every `dist.*` attribute, mesh, and operator that moves tensors.

    What remains computes the same function, for one device; stages are put in place.  A program lowered to one
    device, or with manual computations in it, is refused: there the placement is part of the meaning.

    Before:
    ```mlir
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
    func.func @main(%a: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"]], {}>}) -> tensor<8xf32> {
      %0 = "pcg.combine"(%a) {axes = ["x"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[]], {}>]}
        : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
      return %a : tensor<8xf32>
    }
    ```
    """

    name = "dist-strip"

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where placement cannot be removed."""
        for stage in [op for func in functions(module) for op in walk(func) if op.name == "pcg.stage"]:
            inline_stage(stage)
            self.statistics["stages"] += 1
        for op in list(walk(module)):
            if op.name.startswith(_IDENTITIES):
                self._remove(op)
                continue
            if is_manual(op):
                raise PcgError("a manual computation is written for its mesh; its placement cannot be removed", op)
            attrs = op.attributes
            for name in [n for n in attrs if n.startswith("dist.")]:
                del attrs[name]
                self.statistics["attributes"] += 1
            if op.name == "func.func":
                self._signature(op)

    def _remove(self, op: ir.Operation) -> None:
        if op.name in ("dist.send", "dist.recv"):
            raise PcgError(f"'{op.name}' cannot be removed; allowed: operators on one value, stages, and meshes", op)
        if len(op.results) == 1 and len(op.operands) == 1:
            op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()
        self.statistics["ops"] += 1

    def _signature(self, func: ir.Operation) -> None:
        for where in ("arg_attrs", "res_attrs"):
            if where not in func.attributes:
                continue
            every = []
            for own in func.attributes[where]:
                kept = {a.name: a.attr for a in ir.DictAttr(own) if not a.name.startswith("dist.")}
                self.statistics["attributes"] += len(own) - len(kept)
                every.append(ir.DictAttr.get(kept))
            if any(len(d) for d in every):
                func.attributes[where] = ir.ArrayAttr.get(every)
            else:
                del func.attributes[where]
