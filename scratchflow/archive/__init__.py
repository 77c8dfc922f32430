"""Bytes: scan a tree, write and read seekable tar.lz4 archives, extract safely.

The room knows no store, no Slurm, no ssh. Paths inside an archive are bytes, from scratch down
(`work/…`, `env/…`). `docs/format.md` describes the bytes.

    scan/scan.py            scan_tree(scratch, roots, rules, warn) -> ScannedTree; Scan does it in the background
    scan/cache.py           ScanCache: what only this disk knows about a snapshot
    read/archive_file.py    open_index(path) -> Index
    read/archives.py        Archives: single frames, and parts of them
    compare/plan.py         plan(scanned, parent, cache) -> Plan: what a backup has to store
    write/writer.py         write(plan, out, archive_id=…) -> Written
    restore/extract.py      extract(index, open_archive, target, …): a whole snapshot, or a part of it
    compare/delta.py        find_delta(scanned, base, cache, wanted, warn) -> Delta
    restore/apply_delta.py  apply(delta, scanned, wanted, open_archive, …) -> Applied
    restore/displace.py     Displacing: what may be replaced, and where the rest goes
    read/verify.py          verify_archive(path, …) -> list of problems
    foreign/importer.py     import_archive(path, out, …) -> Imported

`warn(code, path, message)` hears of files that changed (`files.changed`), vanished
(`files.vanished`), could not be read (`files.unreadable`) or are not saved (`files.skipped`), and of
mount points, which are not entered (`files.mounted`).
`progress(phase, files_done, files_total, bytes_done, bytes_total)` is called once a frame.
`open_archive(id)` returns where the archive with that id lies.
"""
