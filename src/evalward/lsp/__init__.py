"""A language server: findings of payloads and of corpus cases as diagnostics, constructs as hovers (LSP 3.17).

``server`` speaks the protocol and needs the extra ``evalward[lsp]``; the other modules are pure.
"""
