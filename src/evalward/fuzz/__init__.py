"""The generator of guard.md §5: programs composed from axes kept as data, judged, proven, and shrunk."""
