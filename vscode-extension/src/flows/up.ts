// Start Working and Move to Another Node: the CLI does all the steps, we follow and offer the next one.

import { runWithProgress, type Context } from './context';
import { chooseNode } from './allocate';
import { chooseProfile } from './profile';
import { openWorkspace } from './open';
import { getReady, offerToOpen, requestArgs } from './ready';
import { held } from '../state/state';
import { plain } from '../format/words';

export async function up(context: Context): Promise<void> {
  if (await chooseProfile(context)) await getReady(context);
}

export async function hop(context: Context): Promise<void> {
  const { editor, store } = context;
  const from = held(store.picture)?.node;
  const others = async () => {
    const shown = await context.nodes();
    return { ...shown, nodes: shown.nodes.filter(({ name }) => name !== from) };
  };
  const node = await chooseNode({ ...context, nodes: others }, 'Move to Another Node');
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
    args: [...(node === '' ? [] : ['--node', node]), ...requestArgs(context)],
  });
  context.refresh();
  const message = `You are on ${plain(data.node)} now; ${plain(data.from_node)} is given back.`;
  const windows = 'Windows that are open on the old node reload by themselves.';
  await offerToOpen(context, `${message} ${windows}`, () => openWorkspace(context));
}
