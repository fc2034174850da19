"""What a plan runs on: device kinds and links.  No MLIR here."""

from pcg.machine.machine import Device, Link, Machine

__all__ = ["Device", "Link", "Machine"]
