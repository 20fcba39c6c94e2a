"""Machine code for this host: made once in a process of its own, kept in the cache, loaded with llvmlite.

`unit` names what is compiled, `build` compiles, `library` keeps and loads; `routine` holds functions that
run as Python too, for as long as nobody has compiled them.
"""
