// A request that waits in Slurm's queue, whoever made it: withdrawn, and told of when it is granted.

import { plain } from '../format/words';
import { held, phaseOf, type Picture } from '../state/state';
import { runWithProgress, type Context } from './context';
import { getReady } from './ready';

const START = 'Start Working';

export async function withdraw(context: Context): Promise<void> {
  const { data } = await runWithProgress(context, 'clear', {
    title: 'Withdrawing the request',
    args: ['--pending'],
  });
  context.refresh();
  const { editor } = context;
  await editor.inform(data.released ? 'The request is withdrawn.' : 'No request waits.');
}

/** Tells of a node that came while this window did not wait for it itself: a command that waits tells by itself. */
export async function tellGrant(context: Context, now: Picture, before: Picture): Promise<void> {
  if (now.request || before.request) return;
  const node = held(now)?.node;
  if (phaseOf(before) !== 'waiting' || !node) return;
  const pressed = await context.editor.inform(`${plain(node)} is yours now.`, START);
  if (pressed === START) await getReady(context);
}
