"""Request messages, read from their bytes and checked."""
