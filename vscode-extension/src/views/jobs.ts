// The rows of the view Jobs: newest first, and beneath an array its tasks. What a state comes to, the CLI says. Pure.

import type { JobShown, JobsListed, TaskShown } from '../cli/protocol';
import {
  jobRef,
  newestFirst,
  nodesText,
  parametersText,
  statesText,
  taskRef,
} from '../format/jobText';
import { counted, moment, plain } from '../format/words';
import type { Row } from './row';

type Condition = NonNullable<JobShown['condition']>;

const MARKS: Record<Condition, Pick<Row, 'icon' | 'tint'>> = {
  waiting: { icon: 'clock' },
  running: { icon: 'sync~spin' },
  succeeded: { icon: 'pass', tint: 'good' },
  failed: { icon: 'error', tint: 'bad' },
  cancelled: { icon: 'circle-slash' },
  unknown: { icon: 'question', tint: 'warning' },
};
const SHOW = 'scratchflow.job.show';

/** Empty when nothing was submitted: then the view says how to. */
export function jobRows(listed: JobsListed, nowMs: number): Row[] {
  return [
    ...(listed.damaged?.length ? [damagedRow(listed.damaged)] : []),
    ...newestFirst(listed).map((job) => jobRow(job, nowMs)),
    ...(listed.left_out ? [olderRow(listed.left_out)] : []),
  ];
}

function jobRow(job: JobShown, nowMs: number): Row {
  const ref = jobRef(job);
  const when = moment(job.time, nowMs);
  const isArray = job.is_array === true;
  const row: Row = {
    id: job.job,
    label: ref.name,
    description: words([ref.handle, statesText(job), nodesText(job), when]),
    tooltip: jobTooltip(job, when),
    ...markOf(job.condition),
    ...(job.is_open && job.failed_tasks ? { tint: 'bad' as const } : {}),
    kind: kindOf('job', job.is_open, isArray && Boolean(job.failed_tasks)),
    ref,
  };
  // A click on a row with others beneath opens and closes it.
  if (!isArray) return { ...row, command: SHOW };
  return { ...row, children: () => Promise.resolve(taskRows(job)) };
}

function taskRows(job: JobShown): Row[] {
  return (job.tasks ?? []).map((task) => taskRow(job, task));
}

function taskRow(job: JobShown, task: TaskShown): Row {
  const ref = taskRef(job, task);
  return {
    id: ref.wanted,
    label: ref.handle,
    description: words([plain(task.state), parametersText(task), plain(task.node ?? '')]),
    tooltip: lines([`Task ${ref.handle}: ${plain(task.state)}`, ...inWords(task)]),
    ...markOf(task.condition),
    kind: kindOf('task', task.is_open, false),
    ref,
    command: SHOW,
  };
}

function markOf(condition: Condition = 'unknown'): Pick<Row, 'icon' | 'tint'> {
  return MARKS[condition];
}

/** Which menu it gets: its words are what the `when` clauses of package.json look for. */
function kindOf(what: 'job' | 'task', isOpen: boolean | undefined, hasFailed: boolean): string {
  return [what, isOpen ? 'open' : 'ended', hasFailed ? 'failed' : ''].filter(Boolean).join(' ');
}

function jobTooltip(job: JobShown, when: string): string {
  const [only, ...others] = job.tasks ?? [];
  return lines([
    `Job ${plain(job.handle ?? job.job)}: ${statesText(job)}`,
    plain(job.command.join(' ')),
    `submitted ${when}`,
    (job.tags ?? []).length > 0 ? `tags ${plain((job.tags ?? []).join(' '))}` : '',
    ...(only && others.length === 0 ? inWords(only) : []),
  ]);
}

/** What the CLI says of it in plain words. */
function inWords(task: TaskShown): string[] {
  return [parametersText(task), plain(task.why ?? ''), plain(task.rest ?? '')];
}

function damagedRow(ids: readonly string[]): Row {
  return {
    label: `${counted(ids.length, 'job')} cannot be read`,
    tooltip: lines(['The records of these jobs are damaged:', ...ids.map(plain)]),
    icon: 'warning',
    tint: 'warning',
    command: 'scratchflow.log',
  };
}

function olderRow(count: number): Row {
  const tooltip = '`scratchflow jobs --all` lists them in a terminal';
  return { label: `${counted(count, 'older job')} not shown`, tooltip, icon: 'ellipsis' };
}

function words(parts: readonly string[]): string {
  return parts.filter(Boolean).join(' · ');
}

function lines(parts: readonly string[]): string {
  return parts.filter(Boolean).join('\n');
}
