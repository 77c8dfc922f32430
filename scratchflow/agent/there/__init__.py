"""What runs on the cluster without the package: before it is there, or to start it.

Each file is sent or stored byte for byte. Values reach it as arguments, never as text in it.
"""
