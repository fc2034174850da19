"""Training steps of Keras Applications, as Keras emits them: forward, loss, gradient, SGD with momentum, statistics.

`MODELS` has one of every family that the `keras` package builds without weights, and the largest of most.

Needs `keras` (extra `bench`); the models are made with random weights, of which only the shapes are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

#: Name in `keras.applications` and edge of its images.
MODELS = {
    "ResNet50": 224, "ResNet50V2": 224, "EfficientNetB0": 224, "EfficientNetV2B0": 224, "InceptionV3": 299,
    "InceptionResNetV2": 299, "DenseNet121": 224, "MobileNet": 224, "MobileNetV2": 224, "MobileNetV3Small": 224,
    "ConvNeXtTiny": 224, "NASNetMobile": 224, "Xception": 299, "VGG16": 224,
    "ResNet152": 224, "ResNet152V2": 224, "EfficientNetB7": 600, "EfficientNetV2L": 480, "DenseNet201": 224,
    "MobileNetV3Large": 224, "ConvNeXtXLarge": 224, "NASNetLarge": 331, "VGG19": 224,
}  # fmt: skip


def shapes(name: str, batch: int, edge: int = 0) -> tuple[Callable[..., Any], tuple[Any, Any, Any, Any]]:
    """The step and the shapes of weights, statistics, optimizer state, and (images, labels); `edge`: of images."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    size = edge or MODELS[name]
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=1000)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    loss = keras.losses.SparseCategoricalCrossentropy()

    def forward(weights: Any, statistics: Any, images: Any, labels: Any) -> tuple[Any, Any]:
        predicted, statistics = model.stateless_call(weights, statistics, images, training=True)
        return loss(labels, predicted), statistics

    def step(weights: Any, statistics: Any, state: Any, data: Any) -> tuple[Any, Any, Any, Any]:
        grad = jax.value_and_grad(forward, has_aux=True)
        (value, statistics), gradients = grad(weights, statistics, *data)
        weights, state = optimizer.stateless_apply(state, gradients, weights)
        return weights, statistics, state, value

    def of(variables: Any) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in variables]

    data = jax.ShapeDtypeStruct((batch, size, size, 3), jnp.float32), jax.ShapeDtypeStruct((batch,), jnp.int32)
    kept = of(model.trainable_variables), of(model.non_trainable_variables), of(optimizer.variables)
    return step, (*kept, data)
