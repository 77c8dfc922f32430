// Install Command Line: one click, from the wheel that came with the extension.

import { install as installWheel, programs } from '../cli/install';
import { CLI_VERSION } from '../cli/protocol';
import type { Context } from './context';

export interface Places {
  readonly wheelDirectory: string;
  readonly storage: string;
  readonly log: (line: string) => void;
}

export async function install({ editor, reconnect }: Context, places: Places): Promise<void> {
  await editor.withProgress('Installing scratchflow', ({ report, signal }) => {
    const run = programs(places.log, signal);
    return installWheel({ ...places, run, say: (step) => report(step) }, CLI_VERSION);
  });
  reconnect();
  const button = 'Set Up Cluster';
  const pressed = await editor.inform('scratchflow is installed.', button);
  if (pressed === button) await editor.execute('scratchflow.setup');
}
