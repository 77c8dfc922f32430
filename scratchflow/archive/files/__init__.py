"""Single files and directories on disk: handles, holes, attributes, digests, mounts."""
