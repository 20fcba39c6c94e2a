"""Machine code for this host: built once in processes of its own, kept in the cache, loaded with llvmlite.

`routine`, `record`, `storage` and `number_memory` are for code that runs as plain Python or compiled, and
`backend` chooses between the two. `compilation_unit` names what is compiled, `translator` and `build` compile
it, `library` finds, builds and loads it.
"""
