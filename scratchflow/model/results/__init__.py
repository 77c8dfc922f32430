"""What each verb hands back when it worked, the `data` of its `summary` line: one module a family.

`by_op.py` has the table of all operations. Nothing is imported here.
"""
