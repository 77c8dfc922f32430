// A node, the workspace on it, auto-backup, and then the offer to open it: the CLI does all the steps.

import type { UpAndRunning } from '../cli/protocol';
import { plain } from '../format/words';
import { backupArgs, slurmArgs } from '../settings';
import { phaseOf } from '../state/state';
import { runWithProgress, type Context } from './context';
import { openAt } from './open';

const OPEN = 'Open Workspace';
/** A queue may take hours: no limit, and a window that closes leaves the request where it is. */
export const KEEP_WAITING = ['--keep-waiting'];

/** Does whatever is missing; what is offered to be opened is there by then. */
export async function getReady(context: Context): Promise<void> {
  const { node, editor } = await run(context);
  context.refresh();
  const message = `All is ready on ${plain(node ?? 'this machine')}.`;
  await offerToOpen(context, message, () => openAt(context, editor));
}

/** While there is no node yet, the status bar shows the wait for it. */
async function run(context: Context): Promise<UpAndRunning> {
  const { store } = context;
  if (phaseOf(store.picture) === 'none') store.dispatch({ type: 'asked' });
  try {
    const { data } = await runWithProgress(context, 'up', {
      title: 'Getting everything ready',
      args: [...KEEP_WAITING, ...requestArgs(context)],
      onEvent: (event) => {
        if (event.type === 'state') store.dispatch({ type: 'state', event });
      },
    });
    return data;
  } finally {
    store.dispatch({ type: 'settled' });
  }
}

/** What the user's settings ask of Slurm and of the auto-backup. */
export function requestArgs({ editor }: Context): string[] {
  const read = (key: string) => editor.setting(key);
  return [...slurmArgs(read), ...backupArgs(read)];
}

/** At once, after a click, or not at all, as the user likes it. */
export async function offerToOpen(
  { editor }: Context,
  message: string,
  open: () => Promise<void>,
): Promise<void> {
  const openAfter = editor.setting('openAfterAllocate');
  if (openAfter === 'always') return open();
  const pressed = await editor.inform(message, ...(openAfter === 'never' ? [] : [OPEN]));
  if (pressed === OPEN) await open();
}
