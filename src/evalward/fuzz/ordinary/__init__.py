"""Ordinary programs, without a capability, over the node kinds of the grammar: their hardened form must do the same."""
