// Remote-SSH on compute nodes: the settings that spare its users the usual waits, offered once.

import type { Editor } from '../editor';
import type { StatusShown } from '../cli/protocol';
import type { Context } from './context';
import { hostOf } from './place';
import { posix } from 'node:path';

const OFFERED = 'remoteSsh.offered';
const CONNECT_TIMEOUT_S = 60;
const BUSY_TREES = [
  '**/build/**',
  '**/target/**',
  '**/.venv/**',
  '**/node_modules/**',
  '**/.git/objects/**',
];

export interface Change {
  readonly key: string;
  readonly value: unknown;
  readonly why: string;
}

/** What would change: of what the user has set already, only a server on scratch. */
export function changesFor(status: StatusShown, read: (key: string) => unknown): Change[] {
  const host = hostOf(status);
  if (host === undefined) return [];
  const changes = [
    perHost(
      read,
      'remote.SSH.remotePlatform',
      host,
      'linux',
      'it never asks which system the node has',
    ),
    homeward(read, host, scratchOf(status)),
    timeout(read),
    watcher(read),
  ];
  return changes.filter((change) => change !== undefined);
}

function scratchOf(status: StatusShown): string {
  return posix.dirname(status.workspace.path);
}

type Read = (key: string) => unknown;

function perHost(
  read: Read,
  key: string,
  host: string,
  value: string,
  why: string,
): Change | undefined {
  const now = recordOf(read(key));
  if (host in now) return undefined;
  return { key, value: { ...now, [host]: value }, why };
}

/**
 * The server belongs into the home, where Remote-SSH puts it unless told otherwise: e2e/node-editor.e2e.ts measures that
 * it starts from there about as fast as from scratch, and to bring it to a new node's scratch takes longer than to start it.
 */
function homeward(read: Read, host: string, scratch: string): Change | undefined {
  const key = 'remote.SSH.serverInstallPath';
  const { [host]: place, ...others } = recordOf(read(key));
  if (place !== scratch) return undefined;
  const why = 'its server stays in your home; on scratch every new node has to install it again';
  return { key, value: others, why };
}

function timeout(read: Read): Change | undefined {
  const key = 'remote.SSH.connectTimeout';
  const now = read(key);
  if (typeof now === 'number' && now >= CONNECT_TIMEOUT_S) return undefined;
  return { key, value: CONNECT_TIMEOUT_S, why: 'a busy login host does not end the attempt' };
}

function watcher(read: Read): Change | undefined {
  const key = 'files.watcherExclude';
  const now = recordOf(read(key));
  const missing = BUSY_TREES.filter((tree) => !(tree in now));
  if (missing.length === 0) return undefined;
  const value = { ...now, ...Object.fromEntries(missing.map((tree) => [tree, true])) };
  return { key, value, why: 'builds do not keep the file watcher busy' };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Asks once in a lifetime, when there is something to gain. */
export async function offerOnce(context: Context): Promise<void> {
  const { editor, store } = context;
  const { status } = store.picture;
  if (!status || editor.recall(OFFERED) === true || !editor.hasRemoteSsh()) return;
  if (changesFor(status, (key) => editor.setting(`/${key}`)).length === 0) return;
  await editor.remember(OFFERED, true);
  const button = 'Show Settings';
  const message =
    'A few settings make Remote-SSH quicker on compute nodes. Would you like to see them?';
  if ((await editor.inform(message, button)) === button) await tune(context);
}

/** Shows every change with its reason, and makes those that the user leaves ticked. */
export async function tune({ editor, store }: Context): Promise<void> {
  const { status } = store.picture;
  const changes = status ? changesFor(status, (key) => editor.setting(`/${key}`)) : [];
  if (!editor.hasRemoteSsh()) {
    await editor.inform('Remote - SSH is not installed; there is nothing to tune.');
  } else if (changes.length === 0) {
    await editor.inform('There is nothing to tune: the settings are as they should be.');
  } else if (await isWanted(editor, changes)) {
    for (const { key, value } of changes) await editor.setSetting(`/${key}`, value);
    await editor.inform('Done. Your user settings have the changes.');
  }
}

function isWanted(editor: Editor, changes: readonly Change[]): Promise<boolean> {
  const lines = changes.map(({ key, why }) => `${key}: ${why}`);
  return editor.confirm('Change these user settings?', lines.join('\n\n'), 'Change Settings');
}
