"""The life of the server process: assembly, start, reload, drain and stop."""
