"""The simulator: one step of a lowered program on a machine, with its streams, its overlap and its memory."""

from pcg.simulate.processes import ProcessSimulation, simulate_processes
from pcg.simulate.result import Event, Simulation
from pcg.simulate.run import simulate

__all__ = ["Event", "ProcessSimulation", "Simulation", "simulate", "simulate_processes"]
