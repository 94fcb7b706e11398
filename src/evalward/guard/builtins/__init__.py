"""What built-in functions do: one module per family, each a table from catalogue path to transfer function."""
