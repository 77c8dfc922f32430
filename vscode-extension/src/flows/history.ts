// The versions of one file in the snapshots: looked at, compared, brought back.

import { posix } from 'node:path';
import type { FileVersion, PathHistory } from '../cli/protocol';
import type { Choice } from '../editor';
import { moments, plain, size } from '../format/words';
import { isWithin } from '../state/original';
import { runWithProgress, type Context } from './context';
import { inRealFolder, realPath } from './links';
import { hostOf } from './place';
import { compareFile, compareVersions, openFile, restoreFile, type FileRef } from './snapshots';

/** Of the file in the active editor, or of the one whose menu was used. */
export async function fileHistory(context: Context, path?: string): Promise<void> {
  const file = path ?? context.editor.currentFile();
  if (file === undefined) {
    await context.editor.inform('Open a file of the workspace first.');
    return;
  }
  const { data } = await runWithProgress(context, 'snapshots history', {
    title: `Looking for versions of ${plain(posix.basename(file))}`,
    args: [await fromWorkspace(context, file)],
  });
  const version = await pickVersion(context, data, 'Pick a version');
  if (version !== undefined) await act(context, data, version);
}

/** The CLI may not know where the node has its scratch; the picture does. What lies elsewhere stays as it is. */
async function fromWorkspace({ store }: Context, file: string): Promise<string> {
  const { status } = store.picture;
  const workspace = status?.workspace.path;
  if (!workspace || !posix.isAbsolute(file)) return file;
  const mayBeLinked = hostOf(status) === undefined && !isWithin(workspace, file);
  const [outer, inner] = mayBeLinked
    ? await Promise.all([realPath(workspace), inRealFolder(file)])
    : [workspace, file];
  const inside = posix.join(posix.basename(workspace), posix.relative(outer, inner));
  return isWithin(outer, inner) ? inside : file;
}

async function pickVersion(
  { editor }: Context,
  history: PathHistory,
  placeholder: string,
): Promise<string | undefined> {
  const versions = [...history.versions].reverse();
  const labels = moments(
    versions.map(({ time }) => time),
    Date.now(),
  );
  const choices = versions.map((version, index) => choiceOf(version, labels[index] ?? ''));
  const picked = await editor.pick(Promise.resolve(choices), {
    title: `Versions of ${plain(nameOf(history))}`,
    placeholder,
    stays: true,
  });
  return picked === '' ? undefined : picked;
}

function choiceOf(version: FileVersion, label: string): Choice<string> {
  const { change, mode, mode_before: before, snapshot } = version;
  const words = [
    change === 'changed' ? '' : change,
    version.size === undefined || version.size === null ? '' : size(version.size),
    before === undefined || before === null ? '' : `mode ${before} → ${mode ?? ''}`,
    version.fork === true ? 'fork' : '',
    // Typed or pasted, it finds its row.
    plain(snapshot),
  ];
  return {
    label,
    // There is nothing to be seen of a file that was deleted.
    value: change === 'deleted' ? '' : snapshot,
    description: words.filter((word) => word !== '').join(' · '),
  };
}

function nameOf(history: PathHistory): string {
  return history.path ?? 'a file whose name is not UTF-8';
}

const ACTIONS = {
  'Compare with Workspace': compareFile,
  'Open This Version': openFile,
  'Restore This Version…': restoreFile,
} as const;
const ANOTHER = 'Compare with Another Version…';

async function act(context: Context, history: PathHistory, snapshot: string): Promise<void> {
  const { path } = history;
  if (typeof path !== 'string') {
    await context.editor.inform('A name that is not UTF-8 can be looked at in a terminal only.');
    return;
  }
  const labels = [...Object.keys(ACTIONS), ...(history.versions.length > 1 ? [ANOTHER] : [])];
  const choices = labels.map((label) => ({ label, value: label }));
  const picked = await context.editor.pick(Promise.resolve(choices), {
    title: `${plain(posix.basename(path))}: what to do with this version`,
    placeholder: 'Pick what to do',
    stays: true,
  });
  if (picked === undefined) return;
  const file: FileRef = { snapshot, path };
  if (picked !== ANOTHER) await ACTIONS[picked as keyof typeof ACTIONS](context, file);
  else {
    const other = await pickVersion(context, history, 'Pick the version to compare with');
    if (other === undefined) return;
    // Ids begin with the time.
    const [older, newer] = [snapshot, other].sort();
    await compareVersions(context, { older: older ?? '', newer: newer ?? '' }, path);
  }
}
