"""Hooks of agents: from a product's JSON to a tool call, and from a decision to the product's answer.

One module for each product, with pure functions. The service judges (``server/transport/hook_listener.py``);
``ask.py`` is the small program that the product starts, and imports nothing of Evalward.
"""
