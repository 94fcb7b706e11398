"""The hooks of each product as the service decides them, under one policy."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalward.errors import CodedError
from evalward.hook.call import Answer, Outcome
from evalward.hook.products import PRODUCTS
from evalward.server.decide.server_calls import ServerCall, ServerCalls
from evalward.server.requests.caller import UNKNOWN_CALLER


@dataclass
class Hooks:
    """The hooks under one policy, with their log."""

    calls: ServerCalls
    log: Path

    def answer(self, product_name: str, text: bytes) -> Answer:
        product = PRODUCTS[product_name]
        try:
            asked = product.read(text)
        except CodedError as refusal:
            decided = self.calls.refused(refusal, UNKNOWN_CALLER)
        else:
            if not asked.readings:
                return Answer(b"")
            call = ServerCall(
                asked.readings,
                asked.arguments_json,
                asked.session_id,
                asked.request_id,
                takes_programs=product.TAKES_PROGRAMS,
            )
            decided = self.calls.decide(call, remaining=None, stopping=False, caller=UNKNOWN_CALLER)
        return product.answer(Outcome(decided.allowed, decided.call.decision.envelope, decided.arguments))

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]
