"""What benchmarks share: data, metrics, intervals, cells that resume, results and tables."""
