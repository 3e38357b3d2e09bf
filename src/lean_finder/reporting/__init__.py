"""What a run found: one dict of results, and its table, its Markdown and its page, all made from that dict.

Nothing here trains, ranks or tracks. Importing `formatting`, `verdicts` and `terminal` loads no numerical library, so
that the table of the last run is printed at once.
"""
