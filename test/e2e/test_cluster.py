"""`pcg.compile` on a cluster: planned for its network, run on forced CPU devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from support.close import assert_close


def mlp(params, x):
    return jnp.sum(jax.nn.relu(x @ params["up"]) @ params["down"], axis=1)


@pytest.fixture(scope="module")
def arguments():
    r = np.random.default_rng(0)
    params = {"up": r.normal(size=(256, 512)), "down": r.normal(size=(512, 256))}
    return jax.tree.map(lambda a: a.astype(np.float32), (params, r.normal(size=(192, 256))))


def check(step, arguments):
    got = step(*arguments)
    assert_close(got, mlp(*arguments), 1e-3)
    return step


def test_a_cluster_in_place_of_a_mesh(arguments):
    step = check(pcg.compile(mlp, pcg.Cluster.preset("cpu", devices=8)), arguments)
    assert step.mesh.size == 8 and step.cost.seconds > 0


def test_failed_devices_are_left_out(arguments):
    cluster = pcg.Cluster.preset("cpu", devices=8).with_failed([2, 5])
    step = check(pcg.compile(mlp, cluster), arguments)
    assert sorted(step.mesh.device_ids) == [0, 1, 3, 4, 6, 7]
    assert {d.id for d in step(*arguments).sharding.device_set} <= {0, 1, 3, 4, 6, 7}


def test_a_mesh_is_laid_where_it_talks_least_over_the_slow_level(arguments):
    """Tensor parallelism over `model` is fixed: it belongs inside the nodes, wherever the axis stands in the mesh."""
    cluster = pcg.Cluster.preset("summit", nodes=2, sockets=2, gpus=2)
    shardings = ({"up": P(None, "model"), "down": P("model", None)}, P("data", None))
    for mesh in ({"data": 2, "model": 4}, {"model": 4, "data": 2}):
        step = check(pcg.compile(mlp, mesh, cluster=cluster, in_shardings=shardings), arguments)
        devices = step.mesh.device_ids or tuple(range(8))
        for group in step.mesh.groups(["model"]):
            assert len({devices[p] // 4 for p in group}) == 1


def test_a_strategy_in_the_program_makes_the_mesh_and_the_cluster_its_place(arguments):
    def annotated(x, w):
        return pcg.shard_op(jnp.matmul, strategy=((2, 1), (1, 4)))(x, w)

    x, w = arguments[1], arguments[0]["up"]
    step = pcg.compile(annotated, pcg.Cluster.preset("dgx-h100", nodes=2, gpus=4))
    assert_close(step(x, w), x @ w, 1e-3)
    assert step.mesh.sizes == (2, 4)


def test_a_plan_must_fit_the_devices(arguments):
    cluster = pcg.Cluster.preset("cpu", devices=8)
    small = pcg.Cluster(
        "small", (pcg.machine.DeviceKind("k", {}, 1e9, 1e9, 4096.0),),
        (pcg.machine.Group("g", "k", cluster.groups[0].levels),),
    )  # fmt: skip
    with pytest.raises(pcg.PcgError, match="no plan fits in 4.00 KiB per device; the smallest one found needs"):
        pcg.compile(mlp, small)(*arguments)
    with pytest.raises(pcg.ClusterError, match="mesh x=16 has 16 positions; cluster 'cpu' has 8 usable devices"):
        pcg.compile(mlp, pcg.Mesh.of({"x": 16}), cluster=cluster, devices=[*jax.devices()] * 2)
    with pytest.raises(pcg.ClusterError, match="mesh and cluster are both a cluster; pass it once"):
        pcg.compile(mlp, cluster, cluster=cluster)


def test_the_same_input_gives_the_same_mesh(arguments):
    cluster = pcg.Cluster.preset("summit", nodes=2, gpus=2)
    first, second = (pcg.compile(mlp, cluster).lower(*arguments).compilation for _ in range(2))
    assert first.mesh == second.mesh and first.as_text("plan") == second.as_text("plan")
