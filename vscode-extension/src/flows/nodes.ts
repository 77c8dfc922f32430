// Show Nodes: the side bar's view, with what is free now.

import type { Context } from './context';

export async function showNodes({ editor, nodes }: Context): Promise<void> {
  // The view shows the answer, and also why there is none.
  nodes().catch(() => undefined);
  await editor.execute('scratchflow.nodesView.focus');
}
