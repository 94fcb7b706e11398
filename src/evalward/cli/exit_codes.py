"""The exit codes that every command shares; 1 is a verdict or a finding, which each command names itself."""

from typing import Final

USAGE: Final = 2
INFRASTRUCTURE_FAILURE: Final = 3
