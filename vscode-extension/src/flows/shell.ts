// Open Shell on Node: a shell in the job, in the workspace, in a terminal; also as a terminal profile.

import type { Context } from './context';

export interface Terminal {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
}

/** What a terminal runs; the CLI does the rest. */
export async function shellTerminal({ locate, globalArgs }: Context): Promise<Terminal> {
  return {
    name: 'scratchflow: node',
    file: await locate(),
    args: ['shell', ...globalArgs()],
  };
}

export async function shell(context: Context): Promise<void> {
  const { name, file, args } = await shellTerminal(context);
  context.editor.runInTerminal(name, file, args);
}
