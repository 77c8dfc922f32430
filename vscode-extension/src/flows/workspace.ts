// Create Workspace, Initialize Scratch Space, Run Backup: the commands that move files.

import { counted, duration, plain, size } from '../format/words';
import type { BackupTaken, Restored } from '../cli/protocol';
import { keepSafe } from './autobackup';
import { guarded, runWithProgress, type Context } from './context';
import { mayRestore, type Asked } from './unsaved';

export async function create(context: Context): Promise<void> {
  const { data } = await runWithProgress(context, 'create', { title: 'Creating the workspace' });
  await offerToOpen(context, `The workspace is ${plain(data.path)}.`);
}

/** `asked` is the question before it, if any: unsaved changes are always asked about. */
export async function restore(context: Context, snapshot?: string, asked?: Asked): Promise<void> {
  const reload = await mayRestore(context, undefined, asked);
  if (!reload) return;
  const { data, warnings } = await runWithProgress(context, 'restore', {
    title: 'Initializing the scratch space',
    args: snapshot === undefined ? [] : [snapshot],
  });
  await reload();
  await offerToOpen(context, restored(data) + warned(warnings));
}

/** Only when auto-backup is on: a window that opens may end this one, and the command with it. */
async function offerToOpen(context: Context, message: string): Promise<void> {
  let more = '';
  await guarded(context, async (given) => {
    more = await keepSafe(given);
  })();
  const whole = more === '' ? message : `${message} ${more}`;
  await afterChange(context, whole, 'Open Workspace', 'open');
}

export async function backup(context: Context): Promise<void> {
  const { data, warnings } = await runWithProgress(context, 'backup', { title: 'Backing up' });
  await afterChange(context, backedUp(data) + warned(warnings), 'Browse Snapshots', 'snapshots');
}

async function afterChange(
  { editor, refresh }: Context,
  message: string,
  button: string,
  command: string,
): Promise<void> {
  refresh();
  const pressed = await editor.inform(message, button);
  if (pressed === button) await editor.execute(`scratchflow.${command}`);
}

export function backedUp(taken: BackupTaken): string {
  if (taken.kind === 'unchanged')
    return 'Nothing changed since the last snapshot; it is still good.';
  const changed = `${counted(taken.changed_files, 'file')} (${size(taken.changed_bytes)})`;
  const stored = `${size(taken.stored_bytes)} stored in ${duration(Math.ceil(taken.duration_s))}`;
  return `Backed up: ${changed} changed, ${stored}.`;
}

export function restored(done: Restored): string {
  const safe = done.safety_snapshot
    ? ' What was there before is safe in a snapshot of its own.'
    : '';
  if (done.mode === 'nothing') return `The scratch space is up to date already.${safe}`;
  const written = `${counted(done.written_files, 'file')} (${size(done.written_bytes)})`;
  const how = done.mode === 'delta' ? 'only the difference was written' : 'everything was written';
  const removed = done.removed ? `, ${counted(done.removed, 'path')} removed` : '';
  return `The scratch space is ready: ${how}, ${written}${removed}.${safe}`;
}

function warned(warnings: number): string {
  return warnings === 0 ? '' : ` ${counted(warnings, 'warning')}: see the log.`;
}
