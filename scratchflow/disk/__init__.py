"""Durable writes: what is on disk after a power cut is the old state or the new one."""
