// Editors with unsaved changes in files that a restore replaces: saved first, or loaded anew after it. Left as they are,
// the next save would undo the restore without a word.

import { posix } from 'node:path';
import type { Editor } from '../editor';
import { counted, plain } from '../format/words';
import { isWithin, type Place } from '../state/original';
import type { Context } from './context';
import { realPath } from './links';
import { hostOf } from './place';

const SAVE = 'Save and Restore';
const WITHOUT = 'Restore without Saving';
const MOST_NAMES = 3;

export interface Asked {
  readonly message: string;
  readonly detail: string;
  readonly button: string;
}

/** To be called after the restore: loads anew what was not saved. */
export type Reload = () => Promise<void>;
const NOTHING: Reload = () => Promise.resolve();

/** What is asked where the command itself asks nothing. */
const LATEST = {
  message: 'Bring the workspace back to the latest snapshot?',
  detail: 'Only what differs is written.',
};

/**
 * Asks whether to restore that path, from the workspace's name down, and first of all what becomes of unsaved changes in it.
 * Nothing when the user does not want it; without unsaved changes, only what `asked` says is asked.
 */
export async function mayRestore(
  context: Context,
  path: string | undefined,
  asked?: Asked,
): Promise<Reload | undefined> {
  const { editor } = context;
  const unsaved = await unsavedIn(context, path);
  if (unsaved.length > 0) return settle(editor, unsaved, asked ?? LATEST);
  const isSure = !asked || (await editor.confirm(asked.message, asked.detail, asked.button));
  return isSure ? NOTHING : undefined;
}

async function settle(
  editor: Editor,
  unsaved: readonly Place[],
  { message, detail }: Omit<Asked, 'button'>,
): Promise<Reload | undefined> {
  const whole = `${unsavedText(unsaved)} ${detail}`;
  const pressed = await editor.choose(message, whole, SAVE, WITHOUT);
  if (pressed === WITHOUT) return () => reload(editor, unsaved);
  if (pressed !== SAVE) return undefined;
  if (await editor.save(unsaved)) return NOTHING;
  await editor.fail('Nothing was restored: not all files could be saved.');
  return undefined;
}

async function reload(editor: Editor, unsaved: readonly Place[]): Promise<void> {
  const left = await editor.reload(unsaved);
  if (left.length === 0) return;
  const text = `${haveText(left)} unsaved changes still: to save them would undo the restore. Revert File shows what was restored.`;
  // What else there is to say does not wait until this is read.
  void editor.warn(text);
}

/** Where the workspace is, the watch may not have said yet: then it is asked, not guessed. */
async function unsavedIn(
  { cli, editor, store }: Context,
  path: string | undefined,
): Promise<Place[]> {
  const all = editor.unsaved();
  if (all.length === 0) return [];
  const status = store.picture.status ?? (await cli.run('status')).data;
  const { path: workspace } = status.workspace;
  const touched = path === undefined ? workspace : posix.join(posix.dirname(workspace), path);
  const host = hostOf(status);
  const near = all.filter((one) => one.host === host);
  const paths = [touched, ...near.map(({ path }) => path)];
  const real = host === undefined ? await Promise.all(paths.map(realPath)) : [];
  const [place = touched] = real;
  return near.filter(
    ({ path }, at) => isWithin(touched, path) || isWithin(place, real[at + 1] ?? path),
  );
}

function unsavedText(unsaved: readonly Place[]): string {
  return `${haveText(unsaved)} unsaved changes. Saved, they go into a snapshot before the restore; without saving, they are lost.`;
}

/** `main.py has`, `main.py, notes.md have`. */
function haveText(files: readonly Place[]): string {
  const names = files.slice(0, MOST_NAMES).map(({ path }) => plain(posix.basename(path)));
  const more = files.length - names.length;
  const list = [...names, ...(more > 0 ? [counted(more, 'more file')] : [])].join(', ');
  return `${list} ${files.length === 1 ? 'has' : 'have'}`;
}
