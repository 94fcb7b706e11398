"""The fast path for ordinary code: decides whether a payload needs the resolver (guard.md §6).

Input: the payload's text and its survey. Output: yes or no. It errs towards yes: a payload that skips the resolver
mentions no capability and reads no computed key that could reach one.
"""
