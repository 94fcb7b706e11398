"""Several fronts on the same TCP ports: ``serve --fronts``, a supervisor of servers that are processes of their own."""
