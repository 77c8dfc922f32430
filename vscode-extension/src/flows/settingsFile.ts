// Open Settings: the CLI's own settings; it says where they are.

import { plain } from '../format/words';
import type { Context } from './context';

export async function openSettings({ cli, editor }: Context): Promise<void> {
  const { data } = await cli.run('config path');
  if (data.exists) return editor.openFile(data.path);
  const button = 'Set Up Cluster';
  const message = `There are no settings yet. They will be in ${plain(data.path)}.`;
  const pressed = await editor.inform(message, button);
  if (pressed === button) await editor.execute('scratchflow.setup');
}
