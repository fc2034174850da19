"""Contexts: dialects load in each, again, and from several threads."""

import importlib
import threading

import pytest
from torch_mlir import ir

from pcg.dialects.dist import Dist
from pcg.dialects.pcg import Pcg
from pcg.ir.context import make_context
from pcg.ir.load import load_dialects
from pcg.ir.parse import load_module


def test_every_dialect_is_loaded():
    context = make_context()
    for name in ("dist.mesh", "dist.reshard", "pcg.stage", "stablehlo.add", "chlo.erf", "func.func"):
        assert context.is_registered_operation(name)


def test_loading_twice_does_nothing():
    with make_context():
        load_dialects(Dist, Pcg)


def test_contexts_in_threads():
    failures = []

    def work():
        try:
            with make_context():
                ir.Attribute.parse('#dist.shard_spec<@m, [["x"]], {}>')
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_equal_attributes_and_types_are_not_forced_on_an_op():
    # IRDL demands equality of what shares a constraint; ours share none.
    text = (
        "func.func @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {\n"
        '  %0 = "dist.all_to_all"(%a) {split_dim = 0, concat_dim = 1, axes = ["x"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>\n'
        "  return %0 : tensor<8x4xf32>\n}"
    )
    load_module(text, make_context(), layouts=False)


@pytest.mark.parametrize("namespace", ["dist", "pcg", "stablehlo", "chlo", "sdy", "vhlo", "mhlo"])
def test_every_namespace_has_a_module(namespace):
    # Without one the bindings retry a failing import for every operation they hand out.
    importlib.import_module(f"pcg.dialects.{namespace}")
