"""Baselines, for any training step: the layout of every argument by a published scheme (ZeRO, Megatron, ...).

`recipe` names the schemes and gives mesh axes their roles; `aliases`, `forward`, `tensor` and `update` read the program
(what is a weight, which contractions are the forward pass, which weights are a column and row pair, what is the
optimizer's part); `layouts` decides the layout of every argument, and `annotate` writes it.  Propagation does the rest.
"""

from pcg.baselines.recipe import PLANS, Recipe, RecipeError, Roles

__all__ = ["PLANS", "Recipe", "RecipeError", "Roles"]
