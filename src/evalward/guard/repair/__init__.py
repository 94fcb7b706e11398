"""Rewrites of a denied payload that are mechanical: each is judged before it is offered (guard.md §7.4)."""

from evalward.guard.repair.rewriting import judge_repaired, with_rewrite

__all__ = ["judge_repaired", "with_rewrite"]
