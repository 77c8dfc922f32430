"""The bytes of an archive: LZ4 frames, tar headers, the index."""
