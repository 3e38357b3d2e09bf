"""One module per DVC stage, same name: read params and files, call the domain, write outputs and metrics."""
