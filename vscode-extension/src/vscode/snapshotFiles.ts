// Snapshots as a file system that cannot be written to: `scratchflow-snapshot:/PROFILE/ID/work/src/main.py`.

import * as vscode from 'vscode';
import { problemOf } from '../cli/problem';
import type { PathEntry } from '../cli/protocol';
import { entryName, inSnapshot, uriPath } from '../cli/snapshotFiles';
import type { InSnapshot, SnapshotFiles } from '../cli/snapshotFiles';

export const SNAPSHOT_SCHEME = 'scratchflow-snapshot';

export function snapshotUri(where: InSnapshot): vscode.Uri {
  return vscode.Uri.from({ scheme: SNAPSHOT_SCHEME, path: uriPath(where) });
}

const MISSING = new Set([
  'snapshot.missing',
  'snapshot.no_such_path',
  'snapshot.path_in_others',
  'snapshot.path_kept_out',
  'snapshot.path_leads_out',
  'snapshot.path_unsaved',
]);

export class SnapshotFileSystem implements vscode.FileSystemProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly files: SnapshotFiles) {}

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const where = whereOf(uri);
    if (where.path === '') return statOf(undefined);
    const entry = await asked(uri, () => this.files.entry(where));
    if (entry === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return statOf(entry);
  }

  async readDirectory(uri: vscode.Uri): Promise<[string, vscode.FileType][]> {
    const entries = await asked(uri, () => this.files.list(whereOf(uri)));
    return entries.map((entry) => [entryName(entry), TYPES[entry.kind]]);
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return asked(uri, () => this.files.read(whereOf(uri)));
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
}

function whereOf(uri: vscode.Uri): InSnapshot {
  const where = inSnapshot(uri.path);
  if (where === undefined) throw vscode.FileSystemError.FileNotFound(uri);
  return where;
}

/** What the CLI refuses, in the editor's words. */
async function asked<T>(uri: vscode.Uri, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { code, message } = problemOf(error);
    if (MISSING.has(code)) throw vscode.FileSystemError.FileNotFound(uri);
    if (code === 'snapshot.path_is_directory') throw vscode.FileSystemError.FileIsADirectory(uri);
    throw vscode.FileSystemError.Unavailable(message);
  }
}

// A link is shown as one, and read as what it leads to. The editor takes both bits; the enum has no name for the sum.
const LINK = (vscode.FileType.File | vscode.FileType.SymbolicLink) as vscode.FileType;
const TYPES = {
  directory: vscode.FileType.Directory,
  file: vscode.FileType.File,
  link: LINK,
} as const;

function statOf(entry: PathEntry | undefined): vscode.FileStat {
  const mtime = Date.parse(entry?.mtime ?? '') || 0;
  const type = entry === undefined ? vscode.FileType.Directory : TYPES[entry.kind];
  const permissions = vscode.FilePermission.Readonly;
  return { type, ctime: mtime, mtime, size: entry?.size ?? 0, permissions };
}
