"""Robustness slices: the same benchmark, asked a little differently.

Each perturbation is deterministic. A query that it does not change is left out of its slice, so that a drop is
measured on changed queries alone.
"""
