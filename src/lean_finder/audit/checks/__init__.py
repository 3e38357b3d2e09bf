"""One module per kind of leak, each with the checks that find it; `catalogue` lists them all."""
