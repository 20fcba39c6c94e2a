"""The tables as documents: text for the terminal, Markdown, JSON for tools.

Read in this order: `captions` (facts as phrases), `catalogue` (what can be looked up), `sheets` (one entry
as a document), then one module per format.
"""
