// Allocate Compute Node: ask which, wait with the queue's reason, then offer what comes next.

import type { Choice } from '../editor';
import type { Allocated, NodeRow } from '../cli/protocol';
import { slurmArgs } from '../settings';
import { freeText } from '../format/nodeText';
import { plain } from '../format/words';
import { openWorkspace } from './open';
import { runWithProgress, type Context } from './context';
import { chooseProfile } from './profile';
import { getReady, KEEP_WAITING } from './ready';

const ANY = '';
const OPEN = 'Open Workspace';
const START = 'Start Working';
const RESTORE = 'Initialize Scratch Space';

export async function allocate(context: Context): Promise<void> {
  if (!(await chooseProfile(context))) return;
  const node = await chooseNode(context, 'Allocate Compute Node');
  if (node === undefined) return;
  const got = await request(context, node);
  await offerNext(context, got);
}

/** The node that the user wants; an empty string leaves it to Slurm. */
export async function chooseNode(
  { editor, nodes }: Context,
  title: string,
): Promise<string | undefined> {
  const choices = nodes()
    .then((shown) => nodeChoices(shown.nodes))
    // Without a list one can still ask for any node; why there is none is in the log.
    .catch(() => nodeChoices([]));
  return editor.pick(choices, {
    title,
    placeholder: 'Which node? Pick one, or type its name or number',
    typed: (text) => ({ label: `Use ${plain(text)}`, value: text.trim() }),
  });
}

export function nodeChoices(nodes: readonly NodeRow[]): Choice<string>[] {
  const any = { label: 'Any free node', value: ANY, description: 'Slurm chooses' };
  return [any, ...[...nodes].sort(byUse).map(nodeChoice)];
}

/** Warm nodes first, then those with most free; those that cannot be had last. */
function byUse(left: NodeRow, right: NodeRow): number {
  return weight(right) - weight(left) || left.name.localeCompare(right.name);
}

function weight(node: NodeRow): number {
  const free = (node.gpus_free ?? 0) * 1_000 + node.cpus_free;
  return (node.available ? 1e9 : 0) + (node.warm === null ? 0 : 1e8) + Math.min(free, 1e7);
}

function nodeChoice(node: NodeRow): Choice<string> {
  return {
    label: plain(node.name),
    value: node.name,
    description: freeText(node),
    ...(node.warm === null ? {} : { detail: 'warm: still holds a copy of the workspace' }),
  };
}

async function request(context: Context, node: string): Promise<Allocated> {
  const { store, editor } = context;
  const wanted = node === ANY ? [] : ['--node', node];
  store.dispatch({ type: 'asked' });
  try {
    const { data } = await runWithProgress(context, 'allocate', {
      title: 'Allocating a compute node',
      args: [...wanted, ...KEEP_WAITING, ...slurmArgs((key) => editor.setting(key))],
      onEvent: (event) => {
        if (event.type === 'state') store.dispatch({ type: 'state', event });
      },
    });
    store.dispatch({ type: 'granted', data, atMs: Date.now() });
    return data;
  } finally {
    store.dispatch({ type: 'settled' });
  }
}

/** A node that is new to us has no workspace yet: opening comes after Start Working has brought it there. */
async function offerNext(context: Context, got: Allocated): Promise<void> {
  const { editor } = context;
  const openAfter = editor.setting('openAfterAllocate');
  if (openAfter === 'always') return getReady(context);
  const message = `${plain(got.node)} is yours${got.reused ? ' already' : ''}.`;
  const canOpen = got.reused && openAfter !== 'never';
  const pressed = await editor.inform(message, ...(canOpen ? [OPEN] : [START]), RESTORE);
  if (pressed === OPEN) await openWorkspace(context);
  else if (pressed === START) await getReady(context);
  else if (pressed === RESTORE) await editor.execute('scratchflow.restore');
}
