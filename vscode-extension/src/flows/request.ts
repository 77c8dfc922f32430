// What a node is asked for: as the profile says, as last time, or chosen step by step; and the line that goes to Slurm.
// Escape leaves at any step, Enter takes the first choice. What the words mean is up to the CLI: what it refuses
// is told in its words, and the form can be had again with the same answers.

import type { GpuTypeShown, NodesShown } from '../cli/protocol';
import { problemOf } from '../cli/problem';
import type { Choice } from '../editor';
import { problemText } from '../format/problemText';
import { counted, plain, size } from '../format/words';
import type { Context } from './context';

const AS_PROFILE = 'As the profile says';
const COUNTS = [1, 2, 4, 8, 16];
const GIB = 1024 ** 3;
const MEMORY_GIB = [8, 16, 32, 64];
const TIMES = ['1h', '4h', '8h', '1d'];

interface Step {
  readonly flag: string;
  readonly title: string;
  readonly placeholder: string;
  readonly choices: readonly Choice<string>[];
}

/** The answers by flag; one that leaves it to the profile is empty. */
type Answers = Readonly<Record<string, string>>;

/** Asks what is wanted and does `send` with the flags; after a refusal, the same again with the answers at hand. */
export async function fillIn(
  context: Context,
  shown: NodesShown,
  send: (flags: string[]) => Promise<void>,
  before: Answers = {},
): Promise<void> {
  const answers = await chooseResources(context, shown, before);
  if (answers === undefined) return;
  try {
    await send(Object.entries(answers).flatMap((answer) => (answer[1] === '' ? [] : answer)));
  } catch (error) {
    if (!REFUSALS.has(problemOf(error).code)) throw error;
    if (await wantsToChange(context, error)) await fillIn(context, shown, send, answers);
  }
}

/** A value that the CLI does not take, or a request that Slurm does not. */
const REFUSALS = new Set(['usage.invalid', 'allocation.refused']);
const CHANGE = 'Change Request';
const LOG = 'Show Log';

async function wantsToChange({ editor }: Context, error: unknown): Promise<boolean> {
  const pressed = await editor.fail(problemText(problemOf(error)), CHANGE, LOG);
  if (pressed === LOG) editor.showLog();
  return pressed === CHANGE;
}

/** One question for each flag; nothing when a question was dismissed. */
async function chooseResources(
  { editor }: Context,
  shown: NodesShown,
  before: Answers,
): Promise<Answers | undefined> {
  const answers: Record<string, string> = {};
  const all = steps(shown);
  for (const [index, { flag, title, placeholder, choices }] of all.entries()) {
    const offered = [asProfile(shown), ...choices];
    const chosen = await editor.pick(Promise.resolve(firstAs(before[flag], offered)), {
      title: `${title} (${index + 1} of ${all.length})`,
      placeholder,
      typed: (text) => ({ label: `Use ${plain(text)}`, value: text.trim() }),
    });
    if (chosen === undefined) return undefined;
    answers[flag] = chosen;
  }
  return answers;
}

/** With the whole of what the profile asks for: the CLI says it in Slurm's words. */
function asProfile({ asks = '' }: NodesShown): Choice<string> {
  return { label: AS_PROFILE, value: '', ...(asks === '' ? {} : { description: plain(asks) }) };
}

/** The choices with the answer of before on top, also one that was typed. */
function firstAs(answer: string | undefined, choices: Choice<string>[]): Choice<string>[] {
  if (answer === undefined) return choices;
  const same = choices.find(({ value }) => value === answer);
  const first = same ?? { label: plain(answer), value: answer };
  return [{ ...first, detail: 'your last answer' }, ...choices.filter((one) => one !== same)];
}

/** Whether the request may go out, shown as the line that goes to Slurm. */
export async function agree({ editor }: Context, command: string): Promise<boolean> {
  const line = plain(command);
  const choice = { label: 'Send this request', value: true, detail: line };
  const options = { title: 'Request', placeholder: line, stays: true };
  return (await editor.pick(Promise.resolve([choice]), options)) === true;
}

export function steps(shown: NodesShown): Step[] {
  return [
    {
      flag: '--gpus',
      title: 'GPUs',
      placeholder: 'How many GPUs? Pick, or type a number or TYPE:N',
      choices: [
        { label: 'None', value: '0' },
        ...(shown.gpu_types ?? []).flatMap((one) => gpuChoices(one)),
      ],
    },
    {
      flag: '--time',
      title: 'Time',
      placeholder: 'For how long? Pick, or type something like 90m, 8h or 2d',
      choices: TIMES.map((value) => ({ label: value, value })),
    },
    cpuStep(shown),
    memoryStep(shown),
    {
      flag: '--partition',
      title: 'Partition',
      placeholder: 'In which partition? Pick one, or type its name',
      choices: partitionChoices(shown),
    },
  ];
}

function cpuStep(shown: NodesShown): Step {
  return {
    flag: '--cpus',
    title: 'CPUs',
    placeholder: `How many cores? ${most(shown, ({ cpus_free }) => cpus_free, String)}`,
    choices: COUNTS.map((count) => ({
      ...{ label: String(count), value: String(count) },
      description: freeOn(shown, ({ cpus_free }) => cpus_free >= count),
    })),
  };
}

function memoryStep(shown: NodesShown): Step {
  return {
    flag: '--mem',
    title: 'Memory',
    placeholder: `How much, like 32G? ${most(shown, (node) => node.memory_free_bytes ?? 0, size)}`,
    choices: MEMORY_GIB.map((count) => ({
      ...{ label: `${count}G`, value: `${count}G` },
      description: freeOn(shown, (node) => (node.memory_free_bytes ?? 0) >= count * GIB),
    })),
  };
}

function gpuChoices(gpu: GpuTypeShown): Choice<string>[] {
  const atLeast = gpu.is_exact === false ? 'at least ' : '';
  const description = `${atLeast}${gpu.free} of ${gpu.total} free, ${atLeast}${gpu.most_free_on_a_node} on one node`;
  return COUNTS.filter((count) => count <= gpu.most_on_a_node).map((count) => ({
    label: gpu.type === '' ? String(count) : `${count} ${plain(gpu.type)}`,
    value: gpu.type === '' ? String(count) : `${gpu.type}:${count}`,
    description,
  }));
}

function partitionChoices({ nodes, partition }: NodesShown): Choice<string>[] {
  const names = [...new Set(nodes.flatMap((node) => node.partitions))];
  return names.map((name) => {
    const there = nodes.filter(({ partitions }) => partitions.includes(name));
    const free = there.filter(({ available }) => available).length;
    const description = `${free} of ${there.length} nodes take jobs now`;
    const inUse = name === partition ? { detail: 'asked for by the profile' } : {};
    return { label: plain(name), value: name, description, ...inUse };
  });
}

/** Of the nodes that take jobs now, how many have as much. */
function freeOn(
  { nodes }: NodesShown,
  has: (node: NodesShown['nodes'][number]) => boolean,
): string {
  const count = nodes.filter((node) => node.available && has(node)).length;
  return `free on ${count} of ${counted(nodes.length, 'node')}`;
}

function most(
  { nodes }: NodesShown,
  free: (node: NodesShown['nodes'][number]) => number,
  words: (amount: number) => string,
): string {
  const open = nodes.filter(({ available }) => available);
  return `At most ${words(Math.max(0, ...open.map(free)))} free on one node`;
}
