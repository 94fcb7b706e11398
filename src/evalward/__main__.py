"""``python -m evalward``: the command line, for a caller that knows an interpreter but no script."""

from evalward.cli.app import main

if __name__ == "__main__":
    main()
