// Attach Tmux: the session that holds the node, in a terminal.

import type { Context } from './context';

/** tmux needs a terminal; the CLI does the rest. */
export async function attach({ editor, locate, globalArgs }: Context): Promise<void> {
  editor.runInTerminal('scratchflow: tmux', await locate(), ['attach', ...globalArgs()]);
}
