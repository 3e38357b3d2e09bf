"""Measuring retrievers: benchmarks, metrics, intervals, comparisons, robustness."""
