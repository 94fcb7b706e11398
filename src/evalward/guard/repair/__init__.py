"""Rewrites of a denied payload that are mechanical: each is judged before it is offered (contract.md §2)."""

from evalward.guard.repair.rewriting import judge_repaired, rewritten, with_rewrite

__all__ = ["judge_repaired", "rewritten", "with_rewrite"]
