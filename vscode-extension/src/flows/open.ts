// Open Workspace: the workspace's folder, over the alias with Remote-SSH, or here when it is here. The CLI says
// whether there is anything to open.

import type { EditorOpened } from '../cli/protocol';
import { plain } from '../format/words';
import { runWithProgress, type Context } from './context';
import { handOver } from './handOver';

const INSTALL = 'Find Remote-SSH';
const REMOTE_SSH = 'ms-vscode-remote.remote-ssh';
const START = 'Start Working';
const ANYWAY = 'Open Anyway';

export async function openWorkspace(context: Context): Promise<void> {
  const { data } = await runWithProgress(context, 'open', {
    title: 'Looking for the workspace',
    args: ['--print'],
  });
  if (data.exists === true || (await isWantedAnyway(context, data))) await openAt(context, data);
}

/** Opens what the CLI has just made sure of. */
export async function openAt(context: Context, { host, path }: EditorOpened): Promise<void> {
  const { editor } = context;
  if (typeof host === 'string' && !editor.hasRemoteSsh()) return offerRemoteSsh(editor, host);
  await handOver(context, { host: host ?? undefined, path });
  if (typeof host === 'string') await editor.openRemoteFolder(host, path);
  else await editor.openLocalFolder(path);
}

/** Nobody has looked for the workspace in this job: most likely it has to be brought there. */
async function isWantedAnyway({ editor }: Context, { path }: EditorOpened): Promise<boolean> {
  const message = `It is not known whether ${plain(path)} is on the node. Start Working makes sure.`;
  const pressed = await editor.warn(message, START, ANYWAY);
  if (pressed === START) await editor.execute('scratchflow.up');
  return pressed === ANYWAY;
}

async function offerRemoteSsh(editor: Context['editor'], host: string): Promise<void> {
  const message =
    'Opening the workspace needs the extension Remote - SSH (ms-vscode-remote.remote-ssh). ' +
    `Until it is installed, \`ssh ${host}\` in a terminal leads to the node.`;
  const pressed = await editor.warn(message, INSTALL);
  if (pressed === INSTALL) await editor.execute('workbench.extensions.search', REMOTE_SSH);
}
