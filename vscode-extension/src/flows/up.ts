// Start Working and Move to Another Node: the CLI does all the steps, we follow and offer the next one.

import type { UpAndRunning } from '../cli/protocol';
import { runWithProgress, type Context } from './context';
import { chooseNode } from './allocate';
import { chooseProfile } from './profile';
import { openWorkspace } from './open';
import { backupArgs, slurmArgs } from '../settings';
import { held, phaseOf } from '../state/state';
import { plain } from '../format/words';

const OPEN = 'Open Workspace';

export async function up(context: Context): Promise<void> {
  if (!(await chooseProfile(context))) return;
  const { node } = await getReady(context);
  context.refresh();
  await offerToOpen(context, `All is ready on ${plain(node ?? 'this machine')}.`);
}

/** While there is no node yet, the status bar shows the wait for it. */
async function getReady(context: Context): Promise<UpAndRunning> {
  const { store } = context;
  if (phaseOf(store.picture) === 'none') store.dispatch({ type: 'asked' });
  try {
    const { data } = await runWithProgress(context, 'up', {
      title: 'Getting everything ready',
      args: argsOf(context),
      onEvent: (event) => {
        if (event.type === 'state') store.dispatch({ type: 'state', event });
      },
    });
    return data;
  } finally {
    store.dispatch({ type: 'settled' });
  }
}

export async function hop(context: Context): Promise<void> {
  const { editor, store } = context;
  const from = held(store.picture)?.node;
  const node = await chooseNode(context, 'Move to Another Node');
  if (node === undefined) return;
  const isSure = await editor.confirm(
    `Move from ${plain(from ?? 'this node')} to ${node === '' ? 'another node' : plain(node)}?`,
    'A backup is taken, the next node is asked for, and the workspace is brought there. The old node ' +
      'is kept until the workspace is whole on the new one.',
    'Move',
  );
  if (!isSure) return;
  const { data } = await runWithProgress(context, 'hop', {
    title: 'Moving to another node',
    args: [...(node === '' ? [] : ['--node', node]), ...argsOf(context)],
  });
  context.refresh();
  const message = `You are on ${plain(data.node)} now; ${plain(data.from_node)} is given back.`;
  await offerToOpen(
    context,
    `${message} Windows that are open on the old node have to be opened anew.`,
  );
}

function argsOf({ editor }: Context): string[] {
  const read = (key: string) => editor.setting(key);
  return [...slurmArgs(read), ...backupArgs(read)];
}

async function offerToOpen(context: Context, message: string): Promise<void> {
  const { editor } = context;
  const openAfter = editor.setting('openAfterAllocate');
  if (openAfter === 'always') return openWorkspace(context);
  const pressed = await editor.inform(message, ...(openAfter === 'never' ? [] : [OPEN]));
  if (pressed === OPEN) await openWorkspace(context);
}
