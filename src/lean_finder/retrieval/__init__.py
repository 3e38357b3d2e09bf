"""Finding declarations: encoders, their training, indexes, lexical and hybrid search."""
