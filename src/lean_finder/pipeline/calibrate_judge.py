"""The consistency judge: its threshold, and how often it errs.

Reads: labelled pairs, the frozen base encoder, declarations. Writes: `artifacts/judge/judge.json`.
"""

from __future__ import annotations
