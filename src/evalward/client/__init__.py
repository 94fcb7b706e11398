"""Callers' side of ``evalward.v1``: ask the guard, and take everything but a proven ALLOW for a denial."""

from evalward.client.decision import Decision
from evalward.client.evaluation import EvaluationReply
from evalward.client.sync import GuardClient

__all__ = ["Decision", "EvaluationReply", "GuardClient"]
