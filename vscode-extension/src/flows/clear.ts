// Clear Tmux: ask, take the final backup, give the node back.

import { plain } from '../format/words';
import { held } from '../state/state';
import { runWithProgress, type Context } from './context';

export async function clear(context: Context): Promise<void> {
  const { editor, store } = context;
  const node = held(store.picture)?.node;
  const isSure = await editor.confirm(
    node ? `Give ${plain(node)} back?` : 'Clear our tmux session?',
    'A last backup is taken and verified first. If that fails, the node is kept. ' +
      'Then the job is cancelled and our tmux session ends; other sessions are left alone.',
    'Back Up and Clear',
  );
  if (!isSure) return;
  const { data } = await runWithProgress(context, 'clear', {
    title: 'Clearing: final backup, then the node goes back',
  });
  store.dispatch({ type: 'released', atMs: Date.now() });
  context.refresh();
  const saved = data.snapshot ? ' Everything is safe in the last snapshot.' : '';
  await editor.inform((data.released ? 'The node is released.' : 'There was no node.') + saved);
}
