"""The query generator: its models and prompts, its reward, its training and its sampling."""
