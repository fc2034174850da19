"""Programs to programs: microbatches, rematerialisation, fused collectives, shares of a batch."""
