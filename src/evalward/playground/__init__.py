"""The page of ``evalward playground``: verdicts while typing, policies, hardened programs, runs, and an audit log.

``app`` is the ASGI application and needs the extra ``evalward[ui]``; the other modules answer its questions with plain
data. The page's files in ``static`` are built from ``playground/`` of the repository; the package needs no Node.
"""
