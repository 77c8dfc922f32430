"""What a store carries along so that it can be restored from without scratchflow: data, not imported."""
