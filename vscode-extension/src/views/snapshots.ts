// The rows of the view Snapshots: newest first, and beneath each what lies in it.

import { posix } from 'node:path';
import type { Cli } from '../cli/cli';
import type { PathEntry, SnapshotRow } from '../cli/protocol';
import { messageOf } from '../format/snapshotText';
import { counted, moments, plain, size } from '../format/words';
import type { Row } from './row';

const OPEN = 'scratchflow.file.open';

export function snapshotRows(cli: Cli, snapshots: readonly SnapshotRow[], nowMs: number): Row[] {
  const labels = moments(
    snapshots.map(({ time }) => time),
    nowMs,
  );
  return snapshots.map((one, index) => snapshotRow(cli, one, labels[index] ?? one.id)).reverse();
}

function snapshotRow(cli: Cli, snapshot: SnapshotRow, label: string): Row {
  const { id, damaged } = snapshot;
  // What was added to the snapshot before; a full one stands alone.
  const sign = snapshot.kind === 'full' ? '' : '+';
  const words = [`${sign}${size(snapshot.stored_bytes)}`, plain(snapshot.node)];
  // What somebody wrote to find it again goes before that: a narrow side bar cuts off the rest.
  if (snapshot.message !== '') words.unshift(messageOf(snapshot));
  if (snapshot.marks?.length) words.unshift(`[${plain(snapshot.marks.join(', '))}]`);
  return {
    id,
    label,
    description: words.join(' · '),
    tooltip: tooltipOf(snapshot),
    ...markOf(snapshot),
    kind: damaged === null ? 'snapshot' : 'damaged',
    ref: { id },
    children: () => listInside(cli, id, ''),
  };
}

function markOf(snapshot: SnapshotRow): Pick<Row, 'icon' | 'tint'> {
  const { damaged, perhaps_damaged, verified } = snapshot;
  if (damaged !== null) return { icon: 'error', tint: 'bad' };
  if (perhaps_damaged) return { icon: 'warning', tint: 'warning' };
  return verified ? { icon: 'pass', tint: 'good' } : { icon: 'history' };
}

function tooltipOf(snapshot: SnapshotRow): string {
  const holds = `${counted(snapshot.files, 'file')}, ${size(snapshot.bytes)}, from node ${plain(snapshot.node)}`;
  const kind = snapshot.kind === 'full' ? 'everything' : 'only what changed';
  const stored = `${size(snapshot.stored_bytes)} stored: ${kind}`;
  const state = stateOf(snapshot);
  const fork = forkText(snapshot);
  return `Snapshot ${snapshot.id}\n${holds}\n${stored}\n${plain(state)}${fork}`;
}

function stateOf({ damaged, perhaps_damaged, verified }: SnapshotRow): string {
  if (damaged !== null) return damaged;
  if (perhaps_damaged) return `may be damaged: ${perhaps_damaged}`;
  return verified ? 'verified' : 'not verified yet';
}

function forkText({ beside, fork }: SnapshotRow): string {
  if (beside === true) return '\na fork, taken beside the newest one: never `latest`';
  return fork === true ? '\nfrom its parent on, work went two ways' : '';
}

/** One directory of a snapshot; asked of the CLI when the user opens it. */
async function listInside(cli: Cli, id: string, path: string): Promise<Row[]> {
  const { data } = await cli.run('snapshots show', { args: [id, path] });
  return [...data.entries].sort(byKindAndName).map((entry) => entryRow(cli, id, entry));
}

function byKindAndName(left: PathEntry, right: PathEntry): number {
  const rank = (entry: PathEntry) => (entry.kind === 'directory' ? 0 : 1);
  return rank(left) - rank(right) || nameOf(left).localeCompare(nameOf(right));
}

function nameOf(entry: PathEntry): string {
  return plain(posix.basename(entry.path ?? '(a name that is not UTF-8)'));
}

function entryRow(cli: Cli, snapshot: string, entry: PathEntry): Row {
  const { kind, path } = entry;
  const label = nameOf(entry);
  const id = `${snapshot}:${path ?? entry.path_b64}`;
  if (kind === 'directory' && typeof path === 'string') {
    return { id, label, icon: 'folder', children: () => listInside(cli, snapshot, path) };
  }
  const description = kind === 'link' ? `→ ${plain(entry.target ?? '')}` : size(entry.size);
  // A name that is not UTF-8 can be looked at, but not be given to a command.
  const isFile = kind === 'file' && typeof path === 'string';
  return {
    id,
    label,
    description,
    ...(kind === 'file' ? { file: label } : { icon: 'file-symlink-file' }),
    ...(isFile ? { kind: 'file', ref: { snapshot, path }, command: OPEN } : {}),
  };
}
