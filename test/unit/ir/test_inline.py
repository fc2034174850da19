"""The inliner and pcg-normalize on programs of size."""


from pcg.ir.context import make_context
from pcg.ir.inline import Inliner
from pcg.ir.parse import load_module
from pcg.ir.walk import functions, walk
from pcg.passes.pcg_normalize import NormalizePass


def test_captured_values_of_regions_are_mapped():
    text = """
    func.func @main(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
      %0 = call @f(%a, %p) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
      %1 = call @f(%0, %p) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @f(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
      %0 = "stablehlo.if"(%p) ({
        %1 = stablehlo.sine %a : tensor<4xf32>
        stablehlo.return %1 : tensor<4xf32>
      }, {
        stablehlo.return %a : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    context = make_context()
    with context:
        module = load_module(text, context)
        inliner = Inliner(module.operation)
        inliner.run()
        assert inliner.inlined == 2
        main = functions(module)[0]
        assert [op.name for op in walk(main)].count("stablehlo.if") == 2
        module.operation.verify()


def test_twenty_thousand_ops_are_normalised():
    body = "".join(
        f"  %m{i} = stablehlo.multiply %v{i}, %b : tensor<4xf32>\n  %v{i + 1} = func.call @f(%m{i}) : (tensor<4xf32>) -> tensor<4xf32>\n"
        for i in range(5000)
    )
    text = f"""func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {{
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
{body}  return %v5000 : tensor<4xf32>
}}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.sine %a : tensor<4xf32>
  %1 = stablehlo.add %0, %a : tensor<4xf32>
  return %1 : tensor<4xf32>
}}"""
    context = make_context()
    with context:
        module = load_module(text, context)
        p = NormalizePass()
        p.run(module.operation)
        module.operation.verify()
    assert len(list(walk(module.operation))) > 20000
    assert p.statistics["inlined calls"] == 5000
    assert p.statistics["copies"] == 4999
