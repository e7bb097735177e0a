"""The commands of `python -m propwash`, one module each."""
