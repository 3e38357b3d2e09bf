"""Lean Finder: train, audit and serve semantic search for Lean 4."""
