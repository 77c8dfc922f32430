"""Bytes: scan a tree, write and read seekable tar.lz4 archives, extract safely.

The room knows no store, no Slurm, no ssh. Paths inside an archive are bytes, from scratch down
(`work/…`, `env/…`). `docs/format.md` describes the bytes.

    scan.scan_tree(scratch, roots, ignore.IgnoreRules(exclude), warn) -> ScannedTree
    reader.open_index(path, like=None) -> index.Index, sooner beside one with the same paths
    cache.ScanCache.load(path, index) -> ScanCache | None
        .if_equal(scanned, index) -> ScanCache | None, after a restore;  .save(path)

    writer.plan(scanned, parent, cache, warn=…, full=False) -> Plan
        .unchanged: nothing to do; then .cache_if_unchanged() is worth saving
        .changed_files, .changed_bytes, .gone
    writer.write(plan, out, archive_id=…, warn=…, level=0, threads=None, progress=…, item=None)
        -> Written(index, cache, archive_bytes, sha256, counts, needs, full, …)
    writer.write_again(index, cache, out, archive_id=…) -> Written, the same tree under a new id
    index.Index: .counts(), .needs, .uses() (live and stored bytes by archive), .find(path)

    extract.extract(index, open_archive, target, warn=…, select=None, existing="refused", …)
        -> Extracted(files, bytes)
    selection.Selection(index, patterns)   .unmatched says which patterns chose nothing
    reader.read_file(index, entry, open_archive) -> pieces

    delta.changes_since(base, scanned, cache, warn) -> Changes, true if there are any
    delta.find_delta(scanned, base, cache, wanted, warn) -> Delta
    delta.changed_since_scan(delta, scanned) -> paths that somebody changed meanwhile
    delta.apply(delta, scanned, wanted, open_archive, displacing=…, …) -> Applied
    displacing.Displacing(held, before, warn): what may be replaced, and where the rest goes
    after_delta.cache_after(delta, applied.touched, scanned, flags, wanted) -> ScanCache

    verify.verify_archive(path, sha256=None, open_archive=None) -> list of problems
    foreign.import_archive(path, out, archive_id=…, warn=…, under="", …) -> Imported

`warn(code, path, message)` hears of files that changed (`files.changed`), vanished
(`files.vanished`), could not be read (`files.unreadable`) or are not saved (`files.skipped`), and of
mount points, which are not entered (`files.mounted`).
`progress(phase, files_done, files_total, bytes_done, bytes_total)` is called once a frame.
`open_archive(id)` returns where the archive with that id lies.
"""
