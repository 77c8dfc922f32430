"""Every way a command can fail, and what the user can do about it: one module a family.

The first word of a code says in which: `by_code.py` has the table. Nothing is imported here.
"""
