"""The workspace on scratch, seen from outside: where it is, what it equals, what happens to it."""
