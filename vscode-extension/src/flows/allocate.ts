// Allocate Compute Node: ask which, wait with the queue's reason, then offer what comes next.

import type { Choice } from '../editor';
import { CliError, problemOf } from '../cli/problem';
import type { Allocated, NodeRow, NodesShown } from '../cli/protocol';
import { slurmArgs, slurmText } from '../settings';
import { freeText } from '../format/nodeText';
import { sentence } from '../format/problemText';
import { plain } from '../format/words';
import { held } from '../state/state';
import { openWorkspace } from './open';
import { workspaceOffer } from './bring';
import { runWithProgress, type Context } from './context';
import { chooseProfile } from './profile';
import { getReady, KEEP_WAITING } from './ready';
import { chooseInstead, requestName, takeBack, waitingJob } from './queue';
import { agree, fillIn } from './request';

const ANY = '';
/** No node has such a name. */
const LAST = '\0last';
const CHOOSE = '\0choose';
const OPEN_COMMAND = 'scratchflow.open';
const MOVE_COMMAND = 'scratchflow.hop';
const OPEN = 'Open Workspace';
const START = 'Start Working';

export async function allocate(context: Context): Promise<void> {
  if (!(await chooseProfile(context))) return;
  const { picture } = context.store;
  const mine = held(picture)?.node;
  // A picture that nobody keeps up to date is none: then the list of nodes says what is held.
  if (mine && picture.link.is === 'watching') return offerHeld(context, mine);
  const waiting = waitingJob(picture);
  const ask = (replaced: Replaced) => choose(context, replaced);
  const got = waiting === undefined ? await ask(undefined) : await insteadOf(context, waiting, ask);
  if (got !== undefined) await offerNext(context, got);
}

/** A profile holds one node at a time: what can be done instead of asking for another. */
async function offerHeld({ editor }: Context, node: string): Promise<void> {
  const title = `${plain(node)} is yours already`;
  const options = { title, placeholder: 'What would you like to do?' };
  const chosen = await editor.pick(Promise.resolve(instead(title)), options);
  if (chosen !== undefined) await editor.execute(chosen);
}

/** The commands that make sense with a node, in place of a list of nodes. */
function instead(why: string): Choice<string>[] {
  return [
    { label: 'Open Workspace', value: OPEN_COMMAND, description: why },
    {
      label: 'Move to Another Node',
      value: MOVE_COMMAND,
      description: 'the workspace comes along',
    },
  ];
}

/** The waiting request that a new one takes the place of: null while it has no number, nothing when none waits. */
type Replaced = number | null | undefined;

/** Asks for a node, as last time, or for what is chosen step by step; nothing when a question was dismissed. */
async function choose(context: Context, replaced: Replaced): Promise<Allocated | undefined> {
  let shown: NodesShown = { nodes: [] };
  const nodes = async () => (shown = await context.nodes());
  const chosen = await chooseNode({ ...context, nodes }, 'Allocate Compute Node', ways);
  const settings = slurmArgs((key) => context.editor.setting(key));
  if (chosen === undefined) return undefined;
  if (chosen === OPEN_COMMAND || chosen === MOVE_COMMAND) {
    await context.editor.execute(chosen);
    return undefined;
  }
  if (chosen === LAST) return requestAgreed(context, ['--last'], replaced);
  if (chosen !== CHOOSE) {
    const args = [...(chosen === ANY ? [] : ['--node', chosen]), ...settings];
    // What the program refuses by itself must not cost the place in the queue.
    if (replaced !== undefined) await context.cli.run('allocate', { args: [...args, '--dry-run'] });
    return send(context, args, replaced);
  }
  // A wrong one would be refused after the last question only. Looks at no cluster.
  if (settings.length > 0) await context.cli.run('config show', { args: settings });
  let got: Allocated | undefined;
  await fillIn(context, shown, async (flags) => {
    got = await requestAgreed(context, [...flags, ...settings], replaced);
  });
  return got;
}

/** Shown in Slurm's words first, as the CLI would send it. */
async function requestAgreed(
  context: Context,
  args: string[],
  replaced: Replaced,
): Promise<Allocated | undefined> {
  // Asked before anything is shown: why a request is refused is told like any other error.
  const { data } = await context.cli.run('allocate', { args: [...args, '--dry-run'] });
  const { reused, node, job_id: job, command = '', instead: anew = '' } = data;
  const waits = reused && node === '';
  if (waits && replaced === undefined)
    return insteadOf(context, job, (one) => requestAgreed(context, args, one));
  // A node that is held already is used again: nothing is sent.
  if (reused && !waits) return request(context, args);
  const isAgreed = await (waits ? agree(context, anew, requestName(job)) : agree(context, command));
  return isAgreed ? send(context, args, replaced) : undefined;
}

/** A request waits already: waits for that one, or lets `ask` send another in its place. */
async function insteadOf(
  context: Context,
  job: number | null,
  ask: (replaced: Replaced) => Promise<Allocated | undefined>,
): Promise<Allocated | undefined> {
  const chosen = await chooseInstead(context, job);
  if (chosen === undefined) return undefined;
  return chosen === 'wait' ? request(context, []) : ask(job);
}

/** Withdraws what the request takes the place of, now that it is about to be sent, and not before. */
async function send(
  context: Context,
  args: readonly string[],
  replaced: Replaced,
): Promise<Allocated> {
  if (replaced === undefined || !(await takeBack(context))) return request(context, args);
  try {
    return await request(context, args);
  } catch (error) {
    const problem = problemOf(error);
    const withdrawn = `${requestName(replaced)}, which waited before, is withdrawn.`;
    throw new CliError({ ...problem, message: `${sentence(problem.message)} ${withdrawn}` });
  }
}

/** Nodes and what else can be asked for, with the request in Slurm's words beside it; with a node, what it is for. */
function ways({ nodes, last, held: [mine] = [] }: NodesShown, asks: string): Choice<string>[] {
  if (mine !== undefined) return instead(`${plain(mine)} is yours already`);
  return nodeChoices(nodes, asks, [
    ...(last ? [{ label: 'As last time', value: LAST, description: plain(last) }] : []),
    { label: 'Choose GPUs, time, CPUs, memory…', value: CHOOSE },
  ]);
}

/** The node that the user wants; an empty string leaves it to Slurm. */
export async function chooseNode(
  { editor, nodes }: Context,
  title: string,
  offered = (shown: NodesShown, asks: string) => nodeChoices(shown.nodes, asks),
): Promise<string | undefined> {
  // With settings of the editor's own, the profile's request is not what goes out.
  const own = slurmText((key) => editor.setting(key));
  const choices = nodes()
    .then((shown) => offered(shown, own || (shown.asks ?? '')))
    // Without a list one can still ask for any node; why there is none is in the log.
    .catch(() => nodeChoices([]));
  return editor.pick(choices, {
    title,
    placeholder: 'Which node? Pick one, or type its name or number',
    typed: (text) => ({ label: `Use ${plain(text)}`, value: text.trim() }),
  });
}

export function nodeChoices(
  nodes: readonly NodeRow[],
  asks = '',
  more: readonly Choice<string>[] = [],
): Choice<string>[] {
  const any = { label: 'Any free node', value: ANY, description: plain(asks) || 'Slurm chooses' };
  return [any, ...more, ...[...nodes].sort(byUse).map(nodeChoice)];
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

async function request(context: Context, wanted: readonly string[]): Promise<Allocated> {
  const { store } = context;
  store.dispatch({ type: 'asked' });
  try {
    const { data } = await runWithProgress(context, 'allocate', {
      title: 'Allocating a compute node',
      args: [...wanted, ...KEEP_WAITING],
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
  const bring = workspaceOffer(context.store.picture);
  const buttons = [canOpen ? OPEN : START, ...(bring ? [bring.title] : [])];
  const pressed = await editor.inform(message, ...buttons);
  if (pressed === OPEN) await openWorkspace(context);
  else if (pressed === START) await getReady(context);
  else if (bring && pressed === bring.title) await editor.execute(bring.command);
}
