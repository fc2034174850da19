"""Models written in plain JAX, for one device: what `pcg` is given.

Every module below has the same two functions, and knows nothing of `pcg`:

  make(size="small", seed=0, **overrides)   -> (step, args)   numpy arguments drawn from a seed
  shapes(size="small", **overrides)         -> (step, args)   the same, as `jax.ShapeDtypeStruct`s

with `step(params, opt_state, batch) -> (params, opt_state, loss)`. `overrides` are fields of the module's `Config`.
"""

MODELS = (
    "bert", "resnet", "dlrm", "moe", "gpt", "rnn", "flax_model", "unity_mlp", "megatron4",
    "resnext", "inception", "unity_dlrm", "candle_uno", "mlp_towers", "unity_transformer",
    "gpt3", "llama", "mixtral", "vit", "unet", "evoformer",
)  # fmt: skip
