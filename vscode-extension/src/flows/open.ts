// Open Workspace: the workspace's folder, over the alias with Remote-SSH, or here when it is here.

import type { Context } from './context';
import { hostOf } from './place';

const INSTALL = 'Find Remote-SSH';
const REMOTE_SSH = 'ms-vscode-remote.remote-ssh';

export async function openWorkspace({ editor, store }: Context): Promise<void> {
  const { status } = store.picture;
  if (!status) {
    await editor.warn('It is not known yet where the workspace is. Try again in a moment.');
    return;
  }
  const { path } = status.workspace;
  const host = hostOf(status);
  if (host === undefined) return editor.openLocalFolder(path);
  if (status.alias?.parked) {
    await offerNode(editor);
    return;
  }
  if (editor.hasRemoteSsh()) return editor.openRemoteFolder(host, path);
  await offerRemoteSsh(editor, host);
}

async function offerNode(editor: Context['editor']): Promise<void> {
  const button = 'Allocate Compute Node';
  const pressed = await editor.warn('There is no node to open the workspace on.', button);
  if (pressed === button) await editor.execute('scratchflow.allocate');
}

async function offerRemoteSsh(editor: Context['editor'], host: string): Promise<void> {
  const message =
    'Opening the workspace needs the extension Remote - SSH (ms-vscode-remote.remote-ssh). ' +
    `Until it is installed, \`ssh ${host}\` in a terminal leads to the node.`;
  const pressed = await editor.warn(message, INSTALL);
  if (pressed === INSTALL) await editor.execute('workbench.extensions.search', REMOTE_SSH);
}
