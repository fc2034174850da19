"""Models annotated only at their inputs and weights, the way users of each parallel style write it.

A case is a training step, its shapes, a mesh and a `PartitionSpec` for every argument.  What comes back as state
(weights, optimizer state) has the layout it came with, as in any training loop with donated state; other results and
everything inside are left to whoever propagates.  Styles, and where they are from:

  data        the batch split over all devices, weights whole (any data-parallel loop);
  megatron    Megatron-LM: query/key/value/up projections by columns, out/down by rows, embeddings by vocabulary over
              "model", the batch over "data";
  megatron+sp the same with the residual stream split along the sequence over "model" (Megatron's sequence parallelism);
  fsdp        ZeRO-3 / FSDP: every weight split over "data" along its largest dimension, like the batch;
  fsdp+tp     MaxText's default: Megatron's split over "model" and the other dimension over "data";
  experts     GShard: experts and batch over the same axis, or over one axis each;
  tables      DLRM: embedding tables by rows or by columns over all devices, the dense part data-parallel;
  2-d         both dimensions of every weight split, one per mesh axis (GSPMD's finalised layout).

Annotations are written by the names of parameters, on the shapes; an axis that does not divide a dimension is dropped,
as users must do by hand.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.sharding import PartitionSpec as P

Tree = Any
Rule = tuple[str, P]
TWO = {"data": 2, "model": 4}
DP = {"data": 8}


@dataclass(frozen=True)
class Case:
    """One row of the table.

    `module`, `size`, `overrides` name the model (`bench.annotated_libraries` or `examples`); `weights` are (regular
    expression on the path of a leaf, spec) pairs, first match wins, no match is whole; `fsdp` names an axis that then
    splits the largest free dimension of every weight; `batch` are such pairs for the data.  `tiny` are overrides for
    tests.
    """

    name: str
    style: str
    mesh: dict[str, int]
    module: str
    size: str
    overrides: dict[str, Any] = field(default_factory=dict)
    weights: tuple[Rule, ...] = ()
    fsdp: str = ""
    batch: tuple[Rule, ...] = ()
    tiny: dict[str, Any] = field(default_factory=dict)

    def build(self, tiny: bool = False) -> Annotated:
        """The step, its shapes and the specs of its arguments and results."""
        module = importlib.import_module(self.module)
        overrides = self.tiny if tiny else self.overrides
        step, shapes = module.shapes("small" if tiny else self.size, **overrides)
        params, state, batch = shapes
        place: Callable[[Any, Any], P] = lambda path, s: self._weight(jax.tree_util.keystr(path), s.shape)  # noqa: E731
        weights = jax.tree_util.tree_map_with_path(place, (params, state))
        data = jax.tree_util.tree_map_with_path(
            lambda path, s: self._fitting(_first(self.batch, jax.tree_util.keystr(path)), s.shape), batch
        )
        return Annotated(self, step, shapes, (*weights, data), (*weights, None), module, overrides)

    def _weight(self, path: str, shape: tuple[int, ...]) -> P:
        spec = list(self._fitting(_first(self.weights, path), shape))
        spec += [None] * (len(shape) - len(spec))
        if self.fsdp:
            size = self.mesh[self.fsdp]
            free = [d for d, s in enumerate(shape) if spec[d] is None and s % size == 0 and s >= 8 * size]
            if free:
                spec[max(free, key=lambda d: shape[d])] = self.fsdp
        return P(*spec)

    def _fitting(self, spec: P, shape: tuple[int, ...]) -> P:
        """`spec` without the axes that do not divide; whole when the array has fewer dimensions than `spec` names."""
        out: list[Any] = []
        if len(spec) > len(shape):
            return P()
        for dim, axes in zip(shape, spec, strict=False):
            names = (axes,) if isinstance(axes, str) else tuple(axes or ())
            parts = 1
            for a in names:
                parts *= self.mesh[a]
            out.append(axes if names and dim % parts == 0 else None)
        return P(*out)


@dataclass(frozen=True)
class Annotated:
    """A case at one size: `in_specs` and `out_specs` are trees of PartitionSpec; None in the results is unspecified."""

    case: Case
    step: Callable[..., Any]
    shapes: tuple[Tree, ...]
    in_specs: tuple[Tree, ...]
    out_specs: tuple[Tree, ...]
    module: Any
    overrides: dict[str, Any]

    def arguments(self, seed: int = 0) -> tuple[Tree, ...]:
        """Arrays of the tiny size."""
        return self.module.make("small", seed, **self.overrides)[1]


def _first(rules: tuple[Rule, ...], path: str) -> P:
    return next((spec for pattern, spec in rules if re.search(pattern, path)), P())


def named(names: str, *dims: str | tuple[str, ...] | None) -> tuple[Rule, ...]:
    """Leaves whose path ends in one of `names` (alternatives of a regular expression) have dimensions split so."""
    return ((rf"\b({names})\b\W*$", P(*dims)),)


def megatron(columns: str, rows: str, tables: str, outer: str | None = None, stacked: bool = False) -> tuple[Rule, ...]:
    """Megatron's split over "model"; `outer` splits the other dimension of matrices, `stacked` has layers in front."""
    lead = (None,) if stacked else ()
    return (
        *named(columns, *lead, outer, "model"), *named(rows, *lead, "model", outer), *named(tables, "model", outer)
    )  # fmt: skip


EVERYWHERE = ((r"key", P()), (r"", P("data")))
OVER_BOTH = ((r"key", P()), (r"", P(("data", "model"))))

BERT: dict[str, Any] = {
    "columns": "query|key|value|up", "rows": "out|down", "tables": "table_word",
}  # fmt: skip
BERT_BIASES = named("bias_query|bias_key|bias_value|bias_up|bias_vocab", "model")
BERT_SIZE = {"layers": 2, "hidden": 768, "ffn": 3072, "heads": 12, "vocab": 30528, "seq": 256, "batch": 32}
GPT: dict[str, Any] = {"columns": "qkv|up", "rows": "out|down", "tables": "table_token"}
GPT_BIASES = named("bias_qkv|bias_up", "model")
GPT_SIZE = {"layers": 2, "hidden": 768, "heads": 12, "vocab": 50304, "seq": 256, "batch": 32}

EXAMPLES = (
    Case("bert megatron", "megatron", TWO, "examples.bert", "medium", BERT_SIZE,
         megatron(**BERT) + BERT_BIASES, batch=EVERYWHERE),
    Case("bert scan megatron", "megatron", TWO, "examples.bert", "medium", BERT_SIZE | {"layers": 6, "scan": True},
         megatron(**BERT, stacked=True)[:2] + named("table_word", "model")
         + named("bias_query|bias_key|bias_value|bias_up", None, "model") + named("bias_vocab", "model"),
         batch=EVERYWHERE, tiny={"scan": True}),
    Case("gpt megatron", "megatron", TWO, "examples.gpt", "medium", GPT_SIZE,
         megatron(**GPT) + GPT_BIASES, batch=EVERYWHERE),
    Case("gpt fsdp", "fsdp", DP, "examples.gpt", "medium", GPT_SIZE, fsdp="data", batch=EVERYWHERE),
    Case("gpt fsdp+tp", "fsdp+tp", TWO, "examples.gpt", "medium", GPT_SIZE,
         megatron(**GPT, outer="data") + GPT_BIASES, batch=EVERYWHERE),
    Case("block megatron", "megatron", TWO, "examples.megatron4", "large", {"layers": 2},
         megatron("query|key|value|up", "out|down", "none"), batch=EVERYWHERE),
    Case("block megatron+sp", "megatron+sp", TWO, "examples.megatron4", "large", {"layers": 2},
         megatron("query|key|value|up", "out|down", "none"), batch=((r"", P("data", "model")),)),
    Case("resnet18 data", "data", DP, "examples.resnet", "resnet18", {"batch": 128, "image": 64, "classes": 1024},
         batch=EVERYWHERE),
    Case("lstm data", "data", DP, "examples.rnn", "medium", {"seq": 32}, batch=EVERYWHERE),
    Case("lstm megatron", "megatron", TWO, "examples.rnn", "medium", {"seq": 32},
         named("input|recurrent|output", None, "model") + named("table|bias|bias_output", "model"), batch=EVERYWHERE),
    Case("dlrm rows", "tables", DP, "examples.dlrm", "medium", {"tables": (20_000,) * 8},
         ((r"'table\d+'", P("data")),), batch=EVERYWHERE),
    Case("dlrm columns", "tables", DP, "examples.dlrm", "medium", {"tables": (20_000,) * 8},
         ((r"'table\d+'", P(None, "data")),), batch=EVERYWHERE),
    Case("moe one axis", "experts", DP, "examples.moe", "medium", {},
         named("up|bias_up|down", "data"), batch=EVERYWHERE),
    Case("moe two axes", "experts", TWO, "examples.moe", "medium", {},
         named("up|bias_up|down", "model"), batch=EVERYWHERE),
    Case("mlp 2-d", "2-d", TWO, "examples.unity_mlp", "wide", {},
         named("first", "data", "model") + named("second", "model", "data"), batch=EVERYWHERE),
    Case("flax vit data", "data", DP, "examples.flax_model", "medium", {}, batch=EVERYWHERE),
    Case("flax vit megatron", "megatron", TWO, "examples.flax_model", "medium", {},
         ((r"EncoderBlock.*(query|key|value)'\]\['kernel", P(None, "model")),
          (r"EncoderBlock.*(query|key|value)'\]\['bias", P("model")),
          (r"EncoderBlock.*out'\]\['kernel", P("model")),
          (r"EncoderBlock.*'Dense_0'\]\['kernel", P(None, "model")), (r"EncoderBlock.*'Dense_0'\]\['bias", P("model")),
          (r"EncoderBlock.*'Dense_1'\]\['kernel", P("model"))), batch=EVERYWHERE),
)
LIBRARIES = (
    Case("haiku resnet18 data", "data", DP, "bench.annotated_haiku", "resnet18", {}, batch=EVERYWHERE),
    Case("equinox gpt megatron", "megatron", TWO, "bench.annotated_equinox", "medium", {},
         # Equinox's matrices are (out, in).
         ((r"(query_proj|key_proj|value_proj|up)\.weight", P("model")), (r"up\.bias", P("model")),
          (r"(output_proj|down)\.weight", P(None, "model")), (r"token\.weight", P("model"))), batch=EVERYWHERE),
    Case("equinox gpt fsdp", "fsdp", DP, "bench.annotated_equinox", "medium", {}, fsdp="data", batch=EVERYWHERE),
    Case("nnx decoder fsdp+tp", "fsdp+tp", TWO, "bench.annotated_nnx", "medium", {},
         # flax's annotations of its own examples: embedding over data, heads and hidden units over model.
         ((r"(query|key|value)'\]\['kernel", P("data", "model")), (r"(query|key|value)'\]\['bias", P("model")),
          (r"out'\]\['kernel", P("model", None, "data")), (r"up'\]\['kernel", P("data", "model")),
          (r"up'\]\['bias", P("model")), (r"down'\]\['kernel", P("model", "data")),
          (r"embedding'\]", P("model", "data"))), batch=EVERYWHERE),
)  # fmt: skip
CASES = {c.name: c for c in (*EXAMPLES, *LIBRARIES)}
