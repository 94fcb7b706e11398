"""The executor seam: judging in this process or in worker processes, behind a verdict cache."""
