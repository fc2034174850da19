"""Schedules of pipelines: when each device works on which microbatch, what that takes, and its instructions.

Sources: GPipe (Huang et al., 2019), 1F1B and interleaved 1F1B (Narayanan et al., 2021), zero-bubble schedules (Qi et
al., ICLR 2024), V-shaped schedules with controllable memory (Qi et al., NeurIPS 2024).
"""
