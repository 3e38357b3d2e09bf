"""Lean text to declarations, families, splits and document texts. Imports only the data contracts."""
