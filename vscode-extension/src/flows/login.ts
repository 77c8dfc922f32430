// Log In: a terminal in which the CLI asks for password, passphrase or second factor. It leaves a connection behind
// that every later command uses, and the terminal closes by itself.

import type { Context } from './context';

const LOG_IN = 'Log In';
const AGAIN = 'Try Again';

/** `again` is the command that the missing login interrupted. */
export async function login(context: Context, again?: () => Promise<void>): Promise<void> {
  const { editor, locate, globalArgs, reconnect } = context;
  const args = ['status', ...globalArgs()];
  const code = await editor.runToEnd('scratchflow: log in', await locate(), args);
  if (code !== 0) {
    const pressed = await editor.warn('You are not logged in.', LOG_IN);
    if (pressed === LOG_IN) await login(context, again);
    return;
  }
  reconnect();
  const pressed = await editor.inform('You are logged in.', ...(again ? [AGAIN] : []));
  if (pressed === AGAIN) await again?.();
}
