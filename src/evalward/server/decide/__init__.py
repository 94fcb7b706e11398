"""Decisions: judge a request, write its audit record, build the envelope."""
