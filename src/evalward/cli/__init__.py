"""The command line: one module per command, imported when its command is asked for."""
