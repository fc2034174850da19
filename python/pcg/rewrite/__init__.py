"""Programs to programs: microbatches, rematerialisation, fused collectives, uneven data parallelism."""
