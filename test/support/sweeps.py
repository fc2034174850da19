"""Which cases of long parametrised tests run by default, which are marked `slow`, and which `exhaustive`.

A sweep is here if it takes seconds and its cases run mostly the same lines.  The cases that stay are chosen so that
what tells cases apart (op, element type, kind of layout, engine, mesh) occurs in one of them.  `.ci/run` runs the
others, but of sweeps that take minutes those only that have something of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

#: What of `DEFAULT` was not found when tests were collected.
ABSENT = pytest.StashKey[list[str]]()
#: Test -> the ids of the cases that run by default; or a number n: every n-th case does, from the first on.
DEFAULT: dict[str, tuple[str, ...] | int] = {
    # An optimizer with a quotient and dropped tokens; others train in the documents and in test_baselines.
    "e2e/test_models.py::test_searched_plan_trains_like_one_device": ("dlrm_adagrad", "moe_top1"),
    "e2e/test_models.py::test_data_parallel_by_propagation_trains_like_one_device": (),
    # Models in plain jax, of which those with parts of their own stay.
    "e2e/test_zoo.py::test_tiny_model_learns_one_batch": ("mlp", "dlrm", "transformer_unity"),
    "e2e/test_zoo.py::test_full_size_is_traced_from_shapes": ("mlp", "dlrm", "llama3_8b"),
    "e2e/test_zoo.py::test_bfloat16_stays_near_float32": (),
    "e2e/test_zoo.py::test_scanned_and_recomputed_layers_are_the_same_model": ("gpt3_1.3b",),
    "e2e/test_zoo.py::test_searched_plan_trains_like_one_device": ("mlp",),
    "e2e/test_examples.py::test_bert_large_is_as_long_as_it_should_be": ("True-1000-3000",),
    "e2e/test_examples.py::test_program_is_read_and_normalised": ("bert", "gpt", "resnet", "rnn", "moe", "dlrm", "megatron4"),
    "e2e/test_examples.py::test_shapes_are_those_of_the_arguments": ("bert", "gpt", "resnet", "rnn", "moe", "dlrm", "megatron4"),
    # What is the same on Ray as in processes, and takes seconds. Cases of test_islands and test_island_processes on Ray
    # are slow where they are written; some of test_island_ray run by default.
    "e2e/test_island_hosts.py::test_training_on_islands_of_several_processes": ("processes",),
    "e2e/test_island_hosts.py::test_layouts_from_processes_to_processes": ("processes-fewer", "processes-from one process"),
    "e2e/test_island_hosts.py::test_slices_that_one_of_the_processes_has": ("processes",),
    "e2e/test_island_hosts.py::test_an_error_in_one_process_reaches_all": ("processes",),
    "e2e/test_island_hosts.py::test_an_island_is_dead_when_one_of_its_processes_is": (),
    "e2e/test_islands.py::test_a_pipelined_step_of_four_stages": ("embedded-False",),
    "e2e/test_islands.py::test_slices_of_unlike_size_on_two_islands": ("embedded",),
    "e2e/test_island_processes.py::test_layouts_of_unlike_sizes_from_process_to_process": (),
    "e2e/test_island_processes.py::test_one_message_per_island_and_run": ("processes-sequential",),
    "e2e/test_island_processes.py::test_training_goes_on_after_an_island_was_killed": ("processes",),
    "e2e/test_island_processes.py::test_two_clients_over_the_same_islands": ("processes",),
    "e2e/test_islands.py::test_an_island_that_is_removed": ("embedded", "processes"),
    "e2e/test_islands.py::test_a_program_waits_for_memory": ("embedded", "processes"),
    "e2e/test_islands.py::test_one_frozen_part_serves_two_clients": ("embedded", "processes"),
    "e2e/test_island_processes.py::test_a_pipelined_step_goes_on_after_an_island_was_killed": (),
    "e2e/test_island_processes.py::test_an_island_restarts_by_itself_so_often": (),
    "e2e/test_island_processes.py::test_a_process_that_does_not_answer_is_ended": ("processes",),
    "e2e/test_island_processes.py::test_a_node_that_fails_poisons_what_depends_on_it": ("processes",),
    "e2e/test_islands.py::test_a_mixture_of_experts_with_data_dependent_exchange": ("embedded",),
    "e2e/test_islands.py::test_uneven_data_parallelism_on_two_heterogeneous_groups": ("embedded",),
    "e2e/test_islands.py::test_an_island_that_joins_is_used_by_the_next_request": ("embedded", "processes"),
    "e2e/test_island_hosts.py::test_rows_are_exchanged_on_islands_of_one_process": ("processes",),
    # A smaller step in four stages, and the same decoder on groups of devices, run by default.
    "e2e/test_islands.py::test_a_decoder_in_four_stages": (),
    "e2e/test_islands_simulated.py::test_programs_and_messages_are_the_same_on_more_hosts": (),
    # Of shapes of pipelines: what the others are compared with takes seconds of planning.
    "unit/planning/test_choose_pipeline.py::test_two_layers_say_what_six_take": (),
    "unit/planning/test_choose_pipeline.py::test_no_plan_is_faster_than_what_others_say_of_it": (),
    "unit/planning/test_choose_pipeline.py::test_layers_that_are_not_left_out": (),
    "unit/planning/test_choose_pipeline.py::test_memory": (),
    "unit/planning/test_choose_pipeline.py::test_kinds_of_devices_have_costs_of_their_own": (),
    "unit/planning/test_choose_pipeline.py::test_numbers_of_devices_that_do_not_divide": (),
    "unit/planning/test_choose_pipeline.py::test_what_is_tried_instead_needs_less_memory": (),
    "unit/planning/test_choose_pipeline.py::test_uneven_vocabulary": (),
    # A decoder on equal groups, and perceptrons on groups of every kind, run by default.
    "e2e/test_pipelines.py::test_groups_of_several_sizes": (),
    "e2e/test_pipelines.py::test_pipelines_train_as_one_device_does": (),
    "e2e/test_pipelines.py::test_a_shape_that_does_not_fit_after_all_is_replaced_by_the_next": (),
    "e2e/test_post_validation.py::test_post_validated_steps_have_the_trajectory_of_synchronous_ones": ("factor-4",),
    "e2e/test_post_validation.py::test_a_program_without_numbers_of_all_groups_needs_no_prediction": (),
    "unit/planning/test_choose_pipeline.py::test_groups_of_unlike_sizes_are_found": (),
    "e2e/test_post_validation.py::test_memory_limits_count_what_waits_for_the_verdict": (),
    "e2e/test_strategies.py::test_results_are_those_of_one_device": tuple(
        f"mlp-{s}" for s in ("auto", "select", "unity", "global", "propagate", "dataflow", "bfs", "priority")
    ) + ("transformer-auto",),
    "e2e/test_zoo.py::test_forward_pass_does_the_specified_work": 3,
    "e2e/test_annotated_models.py::test_runs_like_one_device": (),
    "e2e/test_annotated_models.py::test_moves_no_more_than_shardy": (),
    "e2e/test_baselines.py::test_training_is_that_of_one_device": ("clicks-dlrm",),
    "e2e/test_mindspore.py::test_breadth_first_on_models": (),
    "e2e/test_memory.py::test_microbatches_give_the_same_step_with_less_memory": ("2",),
    "e2e/test_memory.py::test_the_impossible_names_a_limit_that_works": (),
    "e2e/test_paddle_api.py::test_transformer_training_step_is_three_stages": (),
    "e2e/test_random.py::test_every_device_draws_its_part": 4,
    "e2e/test_sort.py::test_sort_of_a_split_dimension": 2,
    "e2e/test_values.py::test_narrow_and_wide_elements": 2,
    "e2e/test_values.py::test_nan_wins_across_devices": 3,
    "e2e/test_alternatives.py::test_a_plan_costs_what_was_reported": 3,
    "e2e/test_alternatives.py::test_taking_a_value_as_it_comes_costs_what_the_report_says": 3,
    "e2e/test_values.py::test_a_window_starts_once": 2,
        "e2e/test_select.py::test_no_baseline_is_faster": ("wide",),
    "e2e/test_why.py::test_a_transformer": ("global",),
    "e2e/test_rediscovery.py::test_small_cnn_is_data_parallel": 2,
    "unit/driver/test_determinism.py::test_same_input_same_output": ("search",),
    "unit/driver/test_plan_cost.py::test_loaded_plans_cost_the_same_in_any_process": (),
    "unit/driver/test_plan_cost.py::test_plans_that_save_memory_by_microbatches": (),
    "unit/lower/test_halo.py::test_convolution": 10,
    "unit/lower/test_any_plan.py::test_results_stay": 5,
    "unit/lower/test_blocks.py::test_dynamic_update_slice": 5,
    "unit/lower/test_blocks.py::test_dynamic_slice": 4,
    "unit/rules/test_elementwise.py::test_chlo_unary": 2,
    "unit/machine/test_ranks.py::test_each_way_is_as_good_as_the_one_before_and_the_optimum_is_one": (),
    "unit/runtime/test_calibrate.py::test_a_small_run_makes_a_profile": (),
    "unit/search/test_shared.py::test_neither_does_the_mesh": (),
    "unit/search/test_assign.py::test_never_worse_than_the_other_engines": (),
    "unit/lower/test_blocks.py::test_gradients_of_pooling": 3,
    "unit/lower/test_blocks.py::test_pad": 3,
    "unit/lower/test_halo.py::test_pooling": 3,
    "unit/lower/test_blocks.py::test_slice": 2,
    "unit/lower/test_reshards_odd.py::test_whole_values": 2,
    "unit/lower/test_uneven.py::test_the_largest_of_the_least": 2,
    "unit/lower/test_processes.py::test_random_programs": 2,
    "unit/lower/test_reshards.py::test_every_pair_of_whole_layouts": 3,
    "unit/lower/test_scan.py::test_top_k": 4,
    "unit/lower/test_sort.py::test_dtypes": 5,
    "unit/lower/test_sort.py::test_layouts": 2,
    "unit/lower/test_sort.py::test_several_operands": 2,
    # Each op on one or two meshes, which take turns.
    "unit/lower/test_uneven.py::test_every_uneven_strategy": 7,
    "unit/lower/test_uneven.py::test_redistribution_of_uneven_shards": 3,
    "unit/reshard/test_optimal.py::test_a_shape_that_few_layouts_divide": (),
    "unit/reshard/test_optimal.py::test_every_pair": tuple(
        f"{mesh}-{rank}" for mesh in ("a=2", "a=4", "a=2,b=2", "a=3,b=2") for rank in (1, 2)
    ),
    "unit/search/test_assign.py::test_the_same_twice_and_in_another_process": ("global",),
    "unit/simulate/test_xla.py::test_memory_is_near_what_xla_says": ("mlp", "mlp, nothing donated"),
    "unit/api/test_substitutions.py::test_results_are_those_of_jax": ("candle_uno", "mlp_towers"),
    "unit/api/test_substitutions.py::test_only_rows_of_tables_are_updated": ("two rows",),
    "unit/planning/test_substitute.py::test_the_search_finds_what_is_best": 10,
    "unit/planning/test_substitute.py::test_rewritten_programs_compute_the_same_in_less_time": 2,
    "unit/search/test_joint.py::test_the_best_solution_is_the_best_plan_of_the_best_program": 4,
    "unit/substitute/test_program_rules.py::test_a_wrong_variant_is_refuted_and_not_proved": 3,
    "unit/substitute/test_rounding.py::test_no_known_rule_that_is_exact_differs_in_float32": (),
    "unit/solve/test_network.py::test_starts_are_never_beaten_by_the_answer": (),
    "unit/test_docs.py::test_page": ("docs/overview.md",),
    "unit/test_docs.py::test_first_command_of_the_readme": (),
    "unit/test_extending.py::test_extension": ("add-a-device-preset",),
    "unit/test_fuzz_files.py::test_damaged_files": ("mlir", "run", "plan", "profile", "cluster", "contest"),
    "unit/test_fuzz_jax.py::test_results_stay": 2,
    "unit/test_fuzz.py::test_results_stay": 6,
    "unit/test_fuzz.py::test_results_stay_with_ops_that_only_xla_runs": 4,
    # Properties of whole plans that take seconds each; quicker tests of the same code are beside them.
    "unit/planning/test_drafts.py::test_of_a_large_program_the_fastest_are_simulated": (),
    "unit/planning/test_drafts.py::test_higher_tensor_degrees_are_tried_while_lower_ones_are_not_hopeless": ("wide-want0",),
    "unit/planning/test_drafts.py::test_zero_variants_that_are_left_out_are_not_the_fastest": ("wide", "mlp"),
    "unit/planning/test_choose_mesh.py::test_what_bounds_exclude_is_never_chosen": tuple(
        f"mlp.mlir-preset:{c}" for c in ("summit:nodes=2,sockets=2,gpus=3", "dgx-h100:2", "summit:nodes=3,sockets=2,gpus=2")
    ),
    "unit/planning/test_baseline_choice.py::test_the_search_is_never_slower_than_a_baseline": (),
    "unit/planning/test_graph_timing.py::test_as_of_the_lowered_program": ("mlp", "dlrm"),
    "unit/bench/test_mpmd.py::test_named_computations_are_the_same_step": ("mlp-False",),
    "unit/search/test_axis_groups.py::test_a_plan_is_as_good_as_that_of_the_exact_search": (
        "a=2,b=2-mlp.mlir",
    ),
    # Donated arguments or not, by turns.
    "unit/search/test_lifespans.py::test_the_peak_is_that_of_the_simulator": (
        "bert-donated0", "candle_uno-donated1", "dlrm-donated0", "inception-donated1", "llama-donated0", "moe-donated1",
        "resnext-donated0", "unity_mlp-donated1", "vit-donated0",
    ),
    # Seconds each, of what others do by default with less: one process more, another fault, a larger program.
    "e2e/test_island_ray.py::test_an_island_gets_all_of_its_processes_or_none": (),
    "e2e/test_island_ray.py::test_an_actor_that_was_killed_while_it_starts": (),
    "unit/rewrite/test_staging.py::test_random_networks_are_divided_and_compute_the_same": (),
    "e2e/test_accumulation.py::test_gradients_are_reduced_once": (),
    "unit/planning/test_relink.py::test_the_best_plan_of_another_mesh_is_relinked_if_it_is_near": (),
    "e2e/test_post_validation.py::test_a_clip_in_every_step_predicts_nothing": (),
    "unit/planning/test_choose_pipeline.py::test_a_program_without_loops": (),
    "unit/pipeline/test_exact.py::test_the_least_of_all_orders": (),
    "unit/solve/test_exact.py::test_the_core_has_the_optimum": (),
    "e2e/test_island_processes.py::test_a_transfer_that_is_never_armed": (),
    "unit/substitute/test_generate.py::test_it_goes_on_where_it_was": (),
    "unit/bench/test_mpmd.py::test_a_failure_is_what_the_partitioner_said": (),
    "e2e/test_pipeline_scan.py::test_results_made_of_numbers": (),
    "e2e/test_post_validation.py::test_state_can_be_read_between_steps": (),
    "e2e/test_post_validation.py::test_donated_state_and_single_calls": (),
    "unit/planning/test_choose_pipeline.py::test_what_is_fixed_stays": ("fixed0",),
    "e2e/test_unroll.py::test_steps_stay_the_same": ("False-True",),
    "e2e/test_post_validation.py::test_two_versions_train_as_the_same_delay_on_one_device": ("False",),
    "e2e/test_islands_chaos.py::test_random_faults": ("0",),
    "unit/planning/test_workspace.py::test_examples": ("rnn", "moe", "resnext"),
    "unit/solve/test_coarse_to_fine.py::test_what_is_near_has_the_solution_and_an_optimum_is_in_all": 2,
    # Of these there are quicker ones that make schedules of every form and compare them with optima.
    "unit/pipeline/test_automatic.py::test_as_short_as_published_schedules": (),
    "unit/pipeline/test_automatic.py::test_as_short_as_all_optima": (),
    "unit/pipeline/test_automatic.py::test_as_short_as_more_published_schedules": (),
    "unit/pipeline/test_automatic.py::test_any_pipeline": (),
    "unit/pipeline/test_automatic.py::test_it_is_the_same_every_time": (),
    "unit/pipeline/test_automatic.py::test_as_short_as_published_v_schedules": (),
    "unit/pipeline/test_closed_forms.py::test_low_memory_schedules": ("4-8",),
    "unit/search/test_shared.py::test_a_plan_with_copies_of_the_process_is_the_one_without": (),
    "unit/planning/test_workers.py::test_processes_that_have_grown_stay": (),
    "unit/planning/test_relink.py::test_plans_of_a_small_program_are_lowered_after_drafts": (),
    "unit/planning/test_drafts.py::test_nothing_fits": (),
    "unit/bench/test_mpmd.py::test_both_sides_of_a_small_model": (),
    "unit/bench/test_prediction.py::test_plans_are_predicted_and_run": (),
    "e2e/test_rediscovery.py::test_optimizer_state_is_sharded_when_memory_is_the_limit": (),
    "e2e/test_memory.py::test_copies_stay_apart_and_save_memory": (),
    "e2e/test_alternatives.py::test_so_it_does_with_given_layouts": (),
    "e2e/test_alternatives.py::test_engines_that_were_rejected_cost_what_the_global_one_says": (),
    "e2e/test_sink.py::test_compiled_programs_make_masks_in_their_loops": (),
    "e2e/test_strategies.py::test_the_global_engine_is_judged_by_its_own_measure": (),
    "e2e/test_accumulation.py::test_microbatches_have_the_bits_of_the_whole_batch": 2,
    "e2e/test_edges.py::test_pieces_only": 2,
    "e2e/test_manual.py::test_axes_left_automatic": 4,
    "e2e/test_subaxes.py::test_what_shardy_propagates": 2,
    "unit/driver/test_determinism.py::test_the_document_of_a_plan_is_the_same": (),
    "unit/search/test_shared.py::test_a_plan_does_not_depend_on_what_was_planned_before": (),
    "unit/search/unity/test_optimize.py::test_a_memory_limit_is_kept": (),
    "unit/search/unity/test_optimize.py::test_the_same_input_gives_the_same_plan": (),
    "unit/reshard/test_planner.py::test_every_pair_has_a_plan_that_leads_there_at_the_stated_cost": 2,
    "unit/search/unity/test_optimize.py::test_a_training_step": ("mlp",),
    "unit/solve/test_solve.py::test_a_limit_that_binds_costs_more": (),
    "e2e/test_select.py::test_any_mesh_is_no_worse_than_the_given_one_and_the_same_each_time": (),
    "e2e/test_groups.py::test_stages_hold_only_their_weights_and_compute_the_step": (),
    "unit/solve/test_solve.py::test_layers_of_a_model_are_solved_to_the_optimum": 2,
    "unit/solve/test_solve.py::test_a_large_problem_has_a_good_answer_in_seconds": (),
    "unit/solve/test_solve.py::test_a_searching_process_that_is_ended_is_replaced": (),
    "unit/solve/test_network.py::test_solve_is_deterministic": (),
}  # fmt: skip

#: Test of `DEFAULT` -> which of the cases that do not run by default `.ci/run` runs, in the same form; all others are
#: run by hand.  Of other tests it runs all that are not `exhaustive` where they are written.
SLOW: dict[str, tuple[str, ...] | int] = {
    # Dropout in a scan, convolutions, causal attention, loops, other libraries' programs, layers that are pipelined.
    "e2e/test_models.py::test_searched_plan_trains_like_one_device": ("bert_scan", "resnet", "gpt", "lstm", "flax_model"),
    "e2e/test_models.py::test_data_parallel_by_propagation_trains_like_one_device": ("resnet", "gpt"),
    # Every kind of plan, model and split of tables.
    "e2e/test_baselines.py::test_training_is_that_of_one_device": (
        "transformer-data", "transformer-megatron-zero1", "scanned-zero3", "clicks-dlrm-rows", "clicks-megatron",
        "stacked-dlrm-whole", "few-dlrm-whole", "mixture-experts", "mixture-experts-megatron-zero1",
    ),
    "e2e/test_zoo.py::test_searched_plan_trains_like_one_device": (
        "xdl", "dlrm", "candle_uno", "transformer_unity", "resnext50", "llama3_8b", "mixtral_8x7b",
    ),
    # Models that are written like others.
    "e2e/test_examples.py::test_program_is_read_and_normalised": 2,
    "e2e/test_examples.py::test_shapes_are_those_of_the_arguments": 2,
    "unit/lower/test_any_plan.py::test_results_stay": 2,
    "unit/lower/test_halo.py::test_convolution": 2,
    "unit/lower/test_uneven.py::test_every_uneven_strategy": 2,
    # Minutes of searching.
    "unit/pipeline/test_automatic.py::test_as_short_as_all_optima": 4,
    "unit/pipeline/test_automatic.py::test_as_short_as_more_published_schedules": 4,
    # Another test runs these pages with all of their sections.
    "unit/test_docs.py::test_page": (),
}  # fmt: skip


def mark(items: Iterable[pytest.Item]) -> list[str]:
    """Mark what does not run by default as `slow` or `exhaustive`; `items` are of whole files, so that all are there.

    Returns the tests and cases of `DEFAULT` and `SLOW` that are in none of those files.
    """
    found: dict[str, list[tuple[str, pytest.Item]]] = {}
    files = set()
    for item in items:
        path, _, name = item.nodeid.removeprefix("test/").partition("::")
        files.add(path)
        test = f"{path}::{name.partition('[')[0]}"
        if test in DEFAULT:
            found.setdefault(test, []).append((item.callspec.id if hasattr(item, "callspec") else "", item))
    absent = [test for test in (*DEFAULT, *SLOW) if test.partition("::")[0] in files and test not in found]
    for test, cases in found.items():
        stay, unknown = _chosen(DEFAULT[test], [case for case, _ in cases])
        others = [c for c, item in cases if c not in stay and item.get_closest_marker("exhaustive") is None]
        swept, unknown_too = _chosen(SLOW.get(test, 1), others)
        absent += [f"{test}[{case}]" for case in unknown + unknown_too]
        for case, item in cases:
            if case in stay:
                continue
            item.own_markers[:] = [m for m in item.own_markers if m.name != "slow"]  # as the test has it
            item.add_marker(pytest.mark.slow if case in swept else pytest.mark.exhaustive)
    return absent


def _chosen(which: tuple[str, ...] | int, ids: list[str]) -> tuple[set[str], list[str]]:
    """The cases that are meant, and those of them that there are not."""
    chosen = set(ids[::which] if isinstance(which, int) else which)
    return chosen, sorted(chosen - set(ids))
