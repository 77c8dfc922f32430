// What a node is asked for: as the profile says, as last time, or chosen step by step; and the line that goes to Slurm.
// Escape leaves at any step, Enter takes the first choice. What the words mean is up to the CLI: what it refuses
// is told in its words, and the form can be had again with the same answers.

import type { GpuTypeShown, NodesShown } from '../cli/protocol';
import { problemOf } from '../cli/problem';
import type { Choice } from '../editor';
import { counted, duration, plain, size } from '../format/words';
import { settingOf, slurmText, text } from '../settings';
import { OPEN_SETTINGS, problemInWords, type Context } from './context';
import { LOG, OPEN_SETTING } from './ofProfile';

const AS_PROFILE = 'As the profile says';
const PARTITION = '--partition';
const COUNTS = [1, 2, 4, 8, 16];
const GIB = 1024 ** 3;
const MEMORY_GIB = [1, 2, 4, 8, 16, 32, 64];
const HOUR_S = 3600;
const TIMES = { '1h': HOUR_S, '4h': 4 * HOUR_S, '8h': 8 * HOUR_S, '1d': 24 * HOUR_S };

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

async function wantsToChange(context: Context, error: unknown): Promise<boolean> {
  const { editor } = context;
  const problem = problemOf(error);
  const setting = settingOf(problem);
  const buttons = [CHANGE, ...(setting === undefined ? [] : [OPEN_SETTING]), LOG];
  const pressed = await editor.fail(problemInWords(context, problem), ...buttons);
  if (pressed === LOG) editor.showLog();
  if (pressed === OPEN_SETTING) await editor.execute(OPEN_SETTINGS, setting);
  return pressed === CHANGE;
}

/** One question for each flag, the partition first: the others offer what it has. Nothing when one was dismissed. */
async function chooseResources(
  { editor }: Context,
  shown: NodesShown,
  before: Answers,
): Promise<Answers | undefined> {
  const answers: Record<string, string> = {};
  const asked = text(editor.setting('slurm.partition'));
  const own = slurmText((key) => editor.setting(key));
  for (let index = 0; ; index += 1) {
    const all = steps(shown, answers[PARTITION] || asked);
    const step = all[index];
    if (step === undefined) return answers;
    const offered = [asProfile(index === 0 ? own || shown.asks : ''), ...step.choices];
    const chosen = await editor.pick(Promise.resolve(firstAs(before[step.flag], offered)), {
      title: `${step.title} (${index + 1} of ${all.length})`,
      placeholder: step.placeholder,
      typed: (typed) => ({ label: `Use ${plain(typed)}`, value: typed.trim() }),
    });
    if (chosen === undefined) return undefined;
    answers[step.flag] = chosen;
  }
}

/** In the first question with the whole of what the profile asks for, in Slurm's words; the answers to it change that. */
function asProfile(asks = ''): Choice<string> {
  return { label: AS_PROFILE, value: '', ...(asks === '' ? {} : { description: plain(asks) }) };
}

/** The choices with the answer of before on top, also one that was typed. */
function firstAs(answer: string | undefined, choices: Choice<string>[]): Choice<string>[] {
  if (answer === undefined) return choices;
  const same = choices.find(({ value }) => value === answer);
  const first = same ?? { label: plain(answer), value: answer };
  return [{ ...first, detail: 'your last answer' }, ...choices.filter((one) => one !== same)];
}

/** Whether the request may go out, shown as the line that goes to Slurm; `replaced` is one that is withdrawn for it. */
export function agree({ editor }: Context, command: string, replaced = ''): Promise<boolean> {
  const line = plain(command);
  if (replaced === '') return editor.confirm('Send this request?', line, 'Send');
  const detail = `${line}\n\n${replaced} is withdrawn first, and loses its place in the queue.`;
  return editor.confirm('Send this request instead?', detail, 'Withdraw and Send');
}

/** `partition` is the one that was chosen; empty for that of the profile. */
export function steps(shown: NodesShown, partition = ''): Step[] {
  const there = within(shown, partition);
  return [
    {
      flag: PARTITION,
      title: 'Partition',
      placeholder: 'In which partition? Pick one, or type its name',
      choices: partitionChoices(shown),
    },
    {
      flag: '--gpus',
      title: 'GPUs',
      placeholder: 'How many GPUs? Pick, or type a number or TYPE:N',
      choices: [{ label: 'None', value: '0' }, ...there.gpus.flatMap((one) => gpuChoices(one))],
    },
    {
      flag: '--time',
      title: 'Time',
      placeholder: 'For how long? Pick, or type something like 90m, 8h or 2d',
      choices: timeChoices(there.seconds),
    },
    cpuStep(there),
    memoryStep(there),
  ];
}

/** What a request can get, as the CLI says it; a limit that is not known is none. */
interface There {
  readonly nodes: NodesShown['nodes'];
  readonly gpus: readonly GpuTypeShown[];
  readonly seconds: number;
  readonly cpus: number;
  readonly bytes: number;
}

function within(shown: NodesShown, chosen: string): There {
  const names = (chosen || (shown.partition ?? '')).split(',').filter(Boolean);
  const known = (shown.partitions ?? []).filter(({ name }) => names.includes(name));
  const isOfProfile = chosen === '' || chosen === shown.partition || known.length === 0;
  return {
    nodes: shown.nodes.filter((node) => {
      return known.length === 0 || node.partitions.some((name) => names.includes(name));
    }),
    gpus: isOfProfile
      ? (shown.gpu_types ?? [])
      : known.flatMap(({ gpu_types: types = [] }) => types),
    seconds: largest(known.map(({ max_time_s: most }) => most)),
    cpus: largest(known.map(({ most_cpus: most }) => most)),
    bytes: largest(known.map(({ most_memory_bytes: most }) => most)),
  };
}

/** Of several partitions, Slurm takes one that fits. */
function largest(limits: readonly (number | null | undefined)[]): number {
  return limits.length === 0 ? Infinity : Math.max(...limits.map((limit) => limit ?? Infinity));
}

/** Those that fit, and the longest that is allowed. */
function timeChoices(most: number): Choice<string>[] {
  const fitting = Object.entries(TIMES).filter(([, seconds]) => seconds < most);
  const choices = fitting.map(([value, seconds]) => ({ label: duration(seconds), value }));
  if (most === Infinity) return choices;
  const longest = { label: duration(most), value: `${Math.floor(most / 60)}m` };
  return [...choices, { ...longest, description: 'the most that the partition allows' }];
}

function cpuStep({ nodes, cpus }: There): Step {
  return {
    flag: '--cpus',
    title: 'CPUs',
    placeholder: `How many cores? ${most(nodes, ({ cpus_free }) => cpus_free, String)}`,
    choices: COUNTS.filter((count) => count <= cpus).map((count) => ({
      ...{ label: String(count), value: String(count) },
      description: freeOn(nodes, ({ cpus_free }) => cpus_free >= count),
    })),
  };
}

function memoryStep({ nodes, bytes }: There): Step {
  return {
    flag: '--mem',
    title: 'Memory',
    placeholder: `How much, like 32G? ${most(nodes, (node) => node.memory_free_bytes ?? 0, size)}`,
    choices: MEMORY_GIB.filter((count) => count * GIB <= bytes).map((count) => ({
      ...{ label: `${count}G`, value: `${count}G` },
      description: freeOn(nodes, (node) => (node.memory_free_bytes ?? 0) >= count * GIB),
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
function freeOn(nodes: There['nodes'], has: (node: There['nodes'][number]) => boolean): string {
  const count = nodes.filter((node) => node.available && has(node)).length;
  return `free on ${count} of ${counted(nodes.length, 'node')}`;
}

function most(
  nodes: There['nodes'],
  free: (node: There['nodes'][number]) => number,
  words: (amount: number) => string,
): string {
  const open = nodes.filter(({ available }) => available);
  return `At most ${words(Math.max(0, ...open.map(free)))} free on one node`;
}
