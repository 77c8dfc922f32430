// What can be done with submitted jobs, from a row of the view Jobs or from the palette, which asks for the job.

import { commandLine } from '../cli/cli';
import type { JobsListed, JobShown } from '../cli/protocol';
import type { Choice } from '../editor';
import {
  called,
  jobRef,
  newestFirst,
  parametersText,
  statesText,
  taskRef,
  type JobRef,
} from '../format/jobText';
import { counted, plain } from '../format/words';
import { runWithProgress, type Context } from './context';

const FOLLOW = 'Follow Log';
const MOST_CHOICES = 5_000;

export async function showJob(context: Context, given?: JobRef): Promise<void> {
  const ref = given ?? (await chooseJob(context, 'Show Job'));
  if (!ref) return;
  const { data } = await runWithProgress(context, 'jobs show', {
    title: `Looking up job ${ref.handle}`,
    args: [ref.wanted],
  });
  await context.editor.showText(`job ${ref.handle}.txt`, data.text ?? '');
}

/** Until the job ends, or the terminal is closed. */
export async function followLog(context: Context, given?: JobRef): Promise<void> {
  const ref = given ?? (await chooseJob(context, FOLLOW));
  if (!ref) return;
  const args = ['logs', '--follow', ref.wanted, ...context.globalArgs()];
  await context.editor.showOutput(`log of ${ref.handle}`, await context.locate(), args);
  context.refreshJobs();
}

export async function rerunJob(context: Context, given?: JobRef): Promise<void> {
  const ref = given ?? (await chooseJob(context, 'Rerun Job'));
  if (ref) await rerun(context, ref, [ref.wanted]);
}

export async function rerunFailed(context: Context, given?: JobRef): Promise<void> {
  const hasFailed = ({ failed_tasks }: JobShown) => Boolean(failed_tasks);
  const ref = given ?? (await choose(context, 'Rerun Failed Tasks', jobsWhere(hasFailed)));
  if (ref) await rerun(context, ref, [ref.wanted, '--failed']);
}

const SAME = 'From the same files';
const CURRENT = 'From the workspace as it is now';

/** One question, with what would be asked of Slurm; what stands against it is told before. */
async function rerun(context: Context, ref: JobRef, args: readonly string[]): Promise<void> {
  const { editor } = context;
  const title = `Looking at job ${ref.handle}`;
  const tried = await runWithProgress(context, 'jobs rerun', {
    title,
    args: [...args, '--dry-run'],
  });
  const line = plain(commandLine(tried.data.command ?? []));
  const choices = [
    { label: SAME, value: [] as string[], detail: line },
    { label: CURRENT, value: ['--current'], detail: 'A snapshot is taken first.' },
  ];
  const how = await editor.pick(Promise.resolve(choices), {
    title: `Rerun ${called(ref)}: ${counted(tried.data.tasks, 'task')}`,
    placeholder: 'From which files? Escape submits nothing',
    stays: true,
  });
  if (!Array.isArray(how)) return;
  const { data } = await runWithProgress(context, 'jobs rerun', {
    title: `Submitting job ${ref.handle} again`,
    args: [...args, ...how],
  });
  context.refresh();
  const again = { wanted: data.job, handle: String(data.number ?? data.job), name: data.name };
  const message = `Job ${again.handle} is submitted: ${counted(data.tasks, 'task')}.`;
  if ((await editor.inform(message, FOLLOW)) === FOLLOW) await followLog(context, again);
}

/** Whether they are ended or it is told why not: the CLI knows more of them by then than the view Jobs shows. */
export async function cancelJobs(context: Context, given: readonly JobRef[]): Promise<void> {
  const refs = given.length > 0 ? given : await chooseOpen(context);
  if (refs.length === 0) return;
  try {
    await cancel(
      context,
      refs.map((ref) => ref.wanted),
    );
  } finally {
    context.refreshJobs();
  }
}

/** Which jobs it ends, the CLI says. */
async function cancel(context: Context, wanted: readonly string[]): Promise<void> {
  const tried = await runWithProgress(context, 'cancel', {
    title: 'Looking at what would end',
    args: [...wanted, '--dry-run'],
  });
  const { cancelled, names } = tried.data;
  const list = cancelled.map((handle, at) => `${plain(handle)} (${plain(names[at] ?? '')})`);
  // Nowhere `Cancel`: the button beside it, which does nothing, is called so.
  const [button, what, who] =
    list.length === 1 ? ['End Job', 'job', 'it'] : ['End Jobs', 'jobs', 'they'];
  const question = `End ${what} ${list.join(', ')}?`;
  const detail = `What ${who} made so far is still collected.`;
  if (!(await context.editor.confirm(question, detail, button))) return;
  const title = `Ending ${what} ${list.join(', ')}`;
  await runWithProgress(context, 'cancel', { title, args: [...wanted, '--yes'] });
}

async function chooseOpen(context: Context): Promise<JobRef[]> {
  const ref = await choose(context, 'Cancel Job', (listed) => entries(listed, isOpen));
  return ref ? [ref] : [];
}

function isOpen({ is_open }: { is_open?: boolean }): boolean {
  return is_open === true;
}

/** The copy is made first, so that what stands against it is told; the terminal then finds it there. */
export async function debugTask(context: Context, given?: JobRef): Promise<void> {
  const ref = given ?? (await chooseJob(context, 'Debug This Task'));
  if (!ref) return;
  const title = `Bringing the files of ${ref.handle} to the node`;
  await runWithProgress(context, 'jobs debug', { title, args: [ref.wanted] });
  const args = ['jobs', 'debug', ref.wanted, ...context.globalArgs()];
  context.editor.runInTerminal(`scratchflow: debug ${ref.handle}`, await context.locate(), args);
}

export async function compareJobs(context: Context, given: readonly JobRef[]): Promise<void> {
  const first = given[0] ?? (await chooseJob(context, 'Compare Two Jobs: the first'));
  if (!first) return;
  const others = (listed: JobsListed) =>
    entries(listed).filter(({ value }) => value.wanted !== first.wanted);
  const title = `Compare ${called(first)} with`;
  const second = given[1] ?? (await choose(context, title, others));
  if (!second) return;
  const { data } = await runWithProgress(context, 'jobs diff', {
    title: `Comparing ${first.handle} with ${second.handle}`,
    args: [first.wanted, second.wanted],
  });
  await context.editor.showText(`jobs ${first.handle} and ${second.handle}.txt`, data.text ?? '');
}

export async function copyJob(context: Context, given?: JobRef): Promise<void> {
  const ref = given ?? (await chooseJob(context, 'Copy Job Id'));
  if (ref) await context.editor.copy(ref.handle);
}

type Entry = Choice<JobRef>;

function chooseJob(context: Context, title: string): Promise<JobRef | undefined> {
  return choose(context, title, (listed) => entries(listed));
}

async function choose(
  { editor, jobs }: Context,
  title: string,
  fitting: (listed: JobsListed) => Entry[],
): Promise<JobRef | undefined> {
  const choices = jobs().then((listed) => orNone(fitting(listed).slice(0, MOST_CHOICES)));
  const picked = await editor.pick(choices, { title, placeholder: 'Pick a job, newest first' });
  // The list stays empty when they cannot be had: whoever catches this says why.
  if (picked === undefined) await choices;
  return typeof picked === 'object' && picked.wanted !== '' ? picked : undefined;
}

/** A list without anything in it would look as if it were still being filled. */
function orNone(found: Entry[]): Entry[] {
  const none = { label: 'There is none', value: { wanted: '', handle: '', name: '' } };
  return found.length > 0 ? found : [none];
}

function jobsWhere(fits: (job: JobShown) => boolean): (listed: JobsListed) => Entry[] {
  return (listed) => newestFirst(listed).filter(fits).map(jobEntry);
}

/** Each job, and beneath it its tasks if it has several. */
function entries(
  listed: JobsListed,
  fits: (one: { is_open?: boolean }) => boolean = () => true,
): Entry[] {
  return newestFirst(listed).flatMap((job) => [
    ...(fits(job) ? [jobEntry(job)] : []),
    ...(job.is_array ? (job.tasks ?? []) : []).filter(fits).map((task) => ({
      label: plain(called(taskRef(job, task))),
      value: taskRef(job, task),
      description: [plain(task.state), parametersText(task)].filter(Boolean).join(' · '),
    })),
  ]);
}

function jobEntry(job: JobShown): Entry {
  return { label: called(jobRef(job)), value: jobRef(job), description: statesText(job) };
}
