"""The leakage audit: finders that look for test theorems in training data, and Great Expectations that judge them.

`inputs` says what is audited, `testside` indexes what must stay hidden, `checks` holds one finder per kind of
leak, `judge` lets Great Expectations decide and render, `run` ties them together, `filter` drops leaking rows
while a stage makes its data, and `certificate` binds a clean audit to the bytes that it judged.
"""
