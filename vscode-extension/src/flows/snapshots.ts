// What can be done with a snapshot and with one file in it.

import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { problemOf } from '../cli/problem';
import type { PathChange, SnapshotsDiffed } from '../cli/protocol';
import type { Side } from '../editor';
import { counted, plain, snapshotName } from '../format/words';
import { runWithProgress, type Context } from './context';
import { hostOf } from './place';
import { restore } from './workspace';

export interface SnapshotRef {
  readonly id: string;
}

export interface FileRef {
  readonly snapshot: string;
  /** From the workspace's name down: `work/src/main.py`. */
  readonly path: string;
}

/** Each row of the view Snapshots is called so. */
function named(id: string): string {
  return snapshotName(id, Date.now());
}

export async function restoreSnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const isSure = await context.editor.confirm(
    `Bring the workspace back to the snapshot of ${named(id)}?`,
    'Only what differs is written. What no snapshot holds yet is saved in one first.',
    'Restore',
  );
  if (isSure) await restore(context, id);
}

export async function verifySnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const { data } = await runWithProgress(context, 'snapshots verify', {
    title: `Verifying the snapshot of ${named(id)}`,
    args: [id],
  });
  context.refresh();
  const bad = data.bad.map((one) => `${one.id}: ${one.reason}`);
  if (bad.length === 0)
    await context.editor.inform('Every byte was read back: the snapshot is good.');
  else await context.editor.fail(`Damaged. ${plain(bad.join(' · '))}`);
}

/** The paths that changed since; picking one shows both versions side by side. */
export async function diffSnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const { data } = await runWithProgress(context, 'snapshots diff', {
    title: 'Comparing with the latest snapshot',
    args: [id, 'latest'],
  });
  if (data.paths.length === 0) {
    await context.editor.inform('Nothing changed between this snapshot and the latest one.');
    return;
  }
  const path = await pickChange(context, data);
  if (path !== undefined && (await canShow(context))) await compareVersions(context, data, path);
}

const MOST_CHOICES = 5_000;
const SIGNS = { added: '+', changed: '~', removed: '−' } as const;

async function pickChange({ editor }: Context, diff: SnapshotsDiffed): Promise<string | undefined> {
  const named = diff.paths.filter((change): change is Named => typeof change.path === 'string');
  const choices = named.slice(0, MOST_CHOICES).map(({ action, path }) => ({
    label: `${SIGNS[action]} ${plain(path)}`,
    value: action === 'changed' ? path : '',
    description: action,
  }));
  const picked = await editor.pick(Promise.resolve(choices), {
    title: `${counted(diff.changed, 'path')} changed, ${diff.added} added, ${diff.removed} removed`,
    placeholder: 'Pick a changed file to see both versions',
    stays: true,
  });
  return picked === '' ? undefined : picked;
}

type Named = PathChange & { path: string };

async function compareVersions(
  context: Context,
  diff: SnapshotsDiffed,
  path: string,
): Promise<void> {
  const older = await fetch(context, { snapshot: diff.older, path });
  const newer = await fetch(context, { snapshot: diff.newer, path });
  const title = `${posix.basename(path)}: ${named(diff.older)} ↔ ${named(diff.newer)}`;
  await context.editor.compare(older, newer, hostOf(context.store.picture.status), plain(title));
}

/** The file as it was, beside the file as it is in the workspace. */
export async function compareFile(context: Context, file: FileRef): Promise<void> {
  const { status } = context.store.picture;
  const workspace = status?.workspace.path;
  if (!workspace) {
    await context.editor.warn('It is not known yet where the workspace is. Try again in a moment.');
    return;
  }
  if (!(await canShow(context))) return;
  const old = await fetch(context, file);
  const now = { path: posix.join(posix.dirname(workspace), file.path), isHistory: false };
  const title = `${posix.basename(file.path)}: ${named(file.snapshot)} ↔ now`;
  await context.editor.compare(old, now, hostOf(status), plain(title));
}

export async function restoreFile(context: Context, file: FileRef): Promise<void> {
  const isSure = await context.editor.confirm(
    `Bring ${plain(file.path)} back from the snapshot of ${named(file.snapshot)}?`,
    'The file in the workspace is replaced; what no snapshot holds yet is saved in one first.',
    'Restore File',
  );
  if (!isSure) return;
  await runWithProgress(context, 'restore', {
    title: `Restoring ${plain(file.path)}`,
    args: [file.snapshot, '--path', escapeGlob(file.path)],
  });
  await context.editor.inform(`${plain(file.path)} is back as it was.`);
}

/** Brings one file out of a snapshot to a place of its own, where the workspace is; says where. */
async function fetch(context: Context, file: FileRef): Promise<Side> {
  const place = comparePlace(context, file.snapshot, file.path);
  try {
    return await fetchTo(context, file, place);
  } catch (error) {
    if (problemOf(error).code !== 'restore.target_differs') throw error;
    // It was fetched before, and somebody changed that copy: theirs stays, and is not what the snapshot holds.
    return fetchTo(context, file, `${place}-${Date.now()}`);
  }
}

async function fetchTo(context: Context, { snapshot, path }: FileRef, to: string): Promise<Side> {
  const args = [snapshot, '--path', escapeGlob(path), '--to', to];
  await runWithProgress(context, 'restore', {
    title: `Fetching ${plain(posix.basename(path))}`,
    args,
  });
  return { path: posix.join(to, withoutWorkspace(context, path)), isHistory: true };
}

/** Where `restore --path … --to` puts a path: the workspace's own name is left out. */
function withoutWorkspace({ store }: Context, path: string): string {
  const name = posix.basename(store.picture.status?.workspace.path ?? '/tmp/work');
  return path.startsWith(`${name}/`) ? path.slice(name.length + 1) : path;
}

/** Beside the workspace: there is room, only the user reads, and it goes when the node does. */
function comparePlace({ store }: Context, snapshot: string, path: string): string {
  const workspace = store.picture.status?.workspace.path ?? '/tmp/work';
  const name = createHash('sha256').update(path).digest('hex').slice(0, 12);
  return posix.join(posix.dirname(workspace), '.scratchflow-compare', `${snapshot}-${name}`);
}

/** Files on a node can be shown only in a window that is connected to it. */
async function canShow({ editor, store }: Context): Promise<boolean> {
  const host = hostOf(store.picture.status);
  if (host === undefined || editor.isConnectedTo(host)) return true;
  const button = 'Open Workspace';
  const message =
    'The files are on the node: open the workspace there, and compare in that window.';
  if ((await editor.inform(message, button)) === button) await editor.execute('scratchflow.open');
  return false;
}

/** `--path` takes globs; a file name with a bracket in it is not one. */
export function escapeGlob(path: string): string {
  return path.replace(/[*?[\\]/g, '[$&]');
}
