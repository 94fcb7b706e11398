"""Runs the command in its arguments, behind the name of a file to which it writes each line of its standard input."""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    record, *command = sys.argv[1:]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as server,
        Path(record).open("wb", buffering=0) as lines,
    ):
        assert server.stdin is not None
        for line in sys.stdin.buffer:
            lines.write(line)
            server.stdin.write(line)
            server.stdin.flush()
        server.stdin.close()
        return server.wait()


sys.exit(main())
