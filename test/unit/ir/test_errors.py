"""The one located error type."""

from __future__ import annotations

import pickle

import pytest
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.search.outcome import DoesNotFit

PROGRAM = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n"


def test_a_place_is_that_of_an_op_a_value_a_module_a_location_or_text():
    module = load_module(PROGRAM, make_context(), "a.mlir")
    func = module.body.operations[0].operation
    places = (func, func.location, func.regions[0].blocks[0].arguments[0], module, "b.py:3")
    texts = [str(PcgError("no", where)) for where in places]
    assert texts[0] == texts[1] == "a.mlir:1:10: no" and texts[2].startswith("a.mlir:1:") and texts[4] == "b.py:3: no"
    assert str(PcgError("no")) == PcgError("no").message == "no"


def test_a_place_is_added_once():
    error = PcgError("no").at("a.mlir:1:1")
    assert str(error) == "a.mlir:1:1: no" and error.at("b.mlir:2:2") is error and str(error) == "a.mlir:1:1: no"
    assert error.message == "no"


def test_a_subtype_stays_one_with_what_it_has():
    error = DoesNotFit(2**20, 3 * 2**20, ", whatever is done").at("a.mlir:1:1")
    by = error.by("pcg-search")
    assert isinstance(by, DoesNotFit) and by.needed == error.needed == 3 * 2**20
    assert str(by) == f"a.mlir:1:1: pcg-search: {error.message}" and not error.message.startswith("pcg-search")
    with pytest.raises(DoesNotFit, match="whatever is done"):
        raise by


def test_text_outlives_the_program():
    error = PcgError("no", "a.mlir:1:1")
    assert str(pickle.loads(pickle.dumps(PcgError(str(error))))) == "a.mlir:1:1: no"
    assert isinstance(PcgError("no", ir.Location.unknown(make_context())).location, ir.Location)
