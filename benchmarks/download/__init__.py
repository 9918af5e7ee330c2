"""Gets what is public of the data that the benchmarks use."""
