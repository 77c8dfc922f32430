// What can be done with a snapshot and with one file in it.

import { posix } from 'node:path';
import type { PathChange, SnapshotsDiffed } from '../cli/protocol';
import { counted, plain, snapshotName } from '../format/words';
import { uriPath, type InSnapshot } from '../cli/snapshotFiles';
import { runWithProgress, type Context } from './context';
import { handOver } from './handOver';
import { hostOf } from './place';
import { mayRestore } from './unsaved';
import { restore } from './workspace';

export interface SnapshotRef {
  readonly id: string;
}

export interface FileRef {
  readonly snapshot: string;
  /** From the workspace's name down: `work/src/main.py`. */
  readonly path: string;
}

/** As the rows of the view Snapshots, and to the second: two may be of one minute. */
function named(id: string): string {
  return snapshotName(id, Date.now());
}

export async function restoreSnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  await restore(context, id, {
    message: `Bring the workspace back to the snapshot of ${named(id)}?`,
    detail: 'Only what differs is written. What no snapshot holds yet is saved in one first.',
    button: 'Restore',
  });
}

export async function verifySnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const { data } = await runWithProgress(context, 'snapshots verify', {
    title: `Verifying the snapshot of ${named(id)}`,
    args: [id],
  });
  context.refresh();
  const bad = data.bad.map((one) => `${one.id}: ${one.reason}`);
  const [unread] = [...(data.newer ?? []), ...(data.closed ?? [])];
  if (bad.length === 0 && unread) await context.editor.fail(`Not checked. ${plain(unread.reason)}`);
  else if (bad.length === 0)
    await context.editor.inform('Every byte was read back: the snapshot is good.');
  else await context.editor.fail(`Damaged. ${plain(bad.join(' · '))}`);
}

/** The paths that changed since; picking one shows both versions side by side. */
export async function diffSnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const isLive = comparesWorkspace(context, id);
  const other = isLive ? 'the workspace' : 'the latest snapshot';
  const { data } = await runWithProgress(context, 'snapshots diff', {
    title: `Comparing with ${other}`,
    args: isLive ? [id] : [id, 'latest'],
  });
  if (data.paths.length === 0) {
    await context.editor.inform(`Nothing differs between this snapshot and ${other}.`);
    return;
  }
  const path = await pickChange(context, data, other);
  if (path === undefined) return;
  if (isLive) await compareFile(context, { snapshot: data.older, path });
  else await compareVersions(context, data, path);
}

/**
 * With the workspace where there is one whose files can be shown here. The latest snapshot can only be compared with that.
 */
function comparesWorkspace({ editor, store }: Context, id: string): boolean {
  const { status } = store.picture;
  if (status?.workspace.exists !== true) return false;
  const host = hostOf(status);
  return host === undefined || editor.isConnectedTo(host) || id === status.snapshots.last_id;
}

const MOST_CHOICES = 5_000;
const SIGNS = { added: '+', changed: '~', removed: '−' } as const;

async function pickChange(
  { editor }: Context,
  diff: SnapshotsDiffed,
  other: string,
): Promise<string | undefined> {
  const named = diff.paths.filter((change): change is Named => typeof change.path === 'string');
  const choices = named.slice(0, MOST_CHOICES).map(({ action, path }) => ({
    label: `${SIGNS[action]} ${plain(path)}`,
    value: action === 'changed' ? path : '',
    description: action,
  }));
  const picked = await editor.pick(Promise.resolve(choices), {
    title: `${counted(diff.changed, 'path')} changed, ${diff.added} added, ${diff.removed} removed: in ${other}`,
    placeholder: 'Pick a changed file to see both versions',
    stays: true,
  });
  return picked === '' ? undefined : picked;
}

type Named = PathChange & { path: string };

/** Both versions, from the store: no node is needed. */
export async function compareVersions(
  context: Context,
  { older, newer }: Pick<SnapshotsDiffed, 'older' | 'newer'>,
  path: string,
): Promise<void> {
  const title = `${posix.basename(path)}: ${named(older)} ↔ ${named(newer)}`;
  const [left, right] = [older, newer].map((snapshot) => placeOf(context, { snapshot, path }));
  if (left && right) await context.editor.compare(left, right, undefined, plain(title));
}

/** The file as it was, beside the file as it is in the workspace. */
export async function compareFile(context: Context, file: FileRef): Promise<void> {
  const { status } = context.store.picture;
  const workspace = status?.workspace.path;
  const old = placeOf(context, file);
  if (!workspace || !old) {
    await context.editor.warn('It is not known yet where the workspace is. Try again in a moment.');
    return;
  }
  if (!(await canShow(context))) return;
  const now = posix.join(posix.dirname(workspace), file.path);
  const title = `${posix.basename(file.path)}: ${named(file.snapshot)} ↔ now`;
  await context.editor.compare(old, now, hostOf(status), plain(title));
}

export async function openFile(context: Context, file: FileRef): Promise<void> {
  const where = placeOf(context, file);
  if (where) await context.editor.openInSnapshot(where);
}

/** The whole snapshot as a folder: to open, search and copy out of. */
export async function browseSnapshot(context: Context, { id }: SnapshotRef): Promise<void> {
  const where = placeOf(context, { snapshot: id, path: '' });
  if (!where) return;
  await handOver(context, { host: '', path: uriPath(where) });
  await context.editor.browseSnapshot(where);
}

/** The whole id: commands take it, also when a short one fits several. */
export async function copySnapshot({ editor }: Context, { id }: SnapshotRef): Promise<void> {
  await editor.copy(id);
}

/** In the profile that is in use, which the picture names; nothing before there is one. */
function placeOf({ store }: Context, { snapshot, path }: FileRef): InSnapshot | undefined {
  const profile = store.picture.status?.profile;
  return profile === undefined ? undefined : { snapshot: { profile, id: snapshot }, path };
}

export async function restoreFile(context: Context, file: FileRef): Promise<void> {
  const reload = await mayRestore(context, file.path, {
    message: `Bring ${plain(file.path)} back from the snapshot of ${named(file.snapshot)}?`,
    detail:
      'The file in the workspace is replaced; what no snapshot holds yet is saved in one first.',
    button: 'Restore File',
  });
  if (!reload) return;
  await runWithProgress(context, 'restore', {
    title: `Restoring ${plain(file.path)}`,
    args: [file.snapshot, '--path', escapeGlob(file.path)],
  });
  await reload();
  await context.editor.inform(`${plain(file.path)} is back as it was.`);
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
