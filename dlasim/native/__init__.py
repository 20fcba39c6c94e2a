"""Machine code of parts of dlasim: shipped, or built once and kept in the cache.

`routine`, `record` and `storage` are for code that runs as plain Python or as machine code. `translator` and
`build` compile it, `shipped` has the libraries that ship, and `library` finds, builds and loads it.
"""
