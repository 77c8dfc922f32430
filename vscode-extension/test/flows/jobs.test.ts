import { expect, test } from 'vitest';
import * as jobs from '../../src/flows/jobs';
import { answering, failure, type Play } from '../fakeCli';
import { LISTED } from '../jobs';
import { lab } from './lab';

const PLAY: Play = {
  jobs: answering(LISTED),
  'jobs show': answering({ job: LISTED.jobs[1], text: 'job 41 (`sweep`): 1 RUNNING, 1 FAILED' }),
  'jobs diff': answering({ first: '41', second: '40', differences: [], text: 'they are the same' }),
  'jobs rerun': answering({
    ...{ job: 'id-50', number: 50, name: 'sweep', tasks: 1, snapshot: 's' },
    command: ['sbatch', '--time=1:00:00'],
  }),
  'jobs debug': answering({ job: 'id-41', task: 1, directory: '/scratch/debug' }),
  cancel: answering({ cancelled: ['41'], names: ['sweep'] }),
};
const SWEEP = { wanted: 'id-41', handle: '41', name: 'sweep' };
const TASK = { wanted: 'id-41_1', handle: '41_1', name: 'sweep' };
const EVAL = { wanted: 'id-40', handle: '40', name: 'eval' };

test('Show Job shows what `jobs show` says, to read', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await jobs.showJob(context, TASK);
  expect(argvs()).toEqual(['jobs show id-41_1']);
  expect(editor.seen.at(-1)).toBe('text: job 41_1.txt: job 41 (`sweep`): 1 RUNNING, 1 FAILED');
});

test('from the palette the job is picked first, tasks too, the newest first', async () => {
  const { context, editor, argvs } = lab(PLAY, { 'Show Job': '41_1 sweep' });
  await jobs.showJob(context);
  expect(editor.picked.map(({ label }) => label)).toEqual([
    ...['id-xx new', '41 sweep', '41_0 sweep', '41_1 sweep', '40 eval'],
  ]);
  expect(argvs()).toEqual(['jobs', 'jobs show id-41_1']);
});

test('without a pick nothing is done', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await jobs.showJob(context);
  await jobs.followLog(context);
  await jobs.rerunJob(context);
  await jobs.rerunFailed(context);
  await jobs.cancelJobs(context, []);
  await jobs.debugTask(context);
  await jobs.compareJobs(context, []);
  await jobs.copyJob(context);
  expect(new Set(argvs())).toEqual(new Set(['jobs']));
  expect(editor.seen.filter((line) => !/^(jobs|pick: )/.test(line))).toEqual([]);
});

test('where no job fits, the list says so, and picking that does nothing', async () => {
  const { context, editor, argvs } = lab(
    { ...PLAY, jobs: answering({ jobs: [] }) },
    { 'Cancel Job': 'There is none' },
  );
  await jobs.cancelJobs(context, []);
  expect(editor.picked.map(({ label }) => label)).toEqual(['There is none']);
  expect(argvs()).toEqual(['jobs']);
});

test('why the jobs cannot be listed reaches the user', async () => {
  const { context } = lab({ jobs: { steps: [{ hello: true }, failure('slurm.x', 'no answer')] } });
  await expect(jobs.copyJob(context)).rejects.toThrow('no answer');
});

test('Follow Log runs to the end of the job, then the view is asked for again', async () => {
  const { context, editor } = lab(PLAY);
  await jobs.followLog(context, TASK);
  expect(editor.seen).toEqual([
    'output: log of 41_1: logs --follow id-41_1 --profile aws',
    'refresh jobs',
  ]);
});

test('Rerun asks once, with what goes to Slurm, and offers the log', async () => {
  const { context, editor, argvs } = lab(PLAY, {
    'Rerun 41 sweep: 1 task': 'From the same files',
    'Job 50 is submitted': 'Follow Log',
  });
  await jobs.rerunJob(context, SWEEP);
  expect(argvs()).toEqual(['jobs rerun id-41 --dry-run', 'jobs rerun id-41']);
  expect(editor.picked[0]?.detail).toBe('sbatch --time=1:00:00');
  expect(editor.seen.filter((line) => /^(pick|confirm|ask)/.test(line))).toHaveLength(1);
  expect(editor.seen.slice(-4)).toEqual([
    'refresh',
    'info: Job 50 is submitted: 1 task. | Follow Log',
    'output: log of 50: logs --follow id-50 --profile aws',
    'refresh jobs',
  ]);
});

test('Rerun Failed Tasks can take the workspace as it is now', async () => {
  const { context, argvs } = lab(PLAY, { 'Rerun 41': 'From the workspace as it is now' });
  await jobs.rerunFailed(context, SWEEP);
  expect(argvs().at(-1)).toBe('jobs rerun id-41 --failed --current');
});

test('Rerun that is not answered submits nothing', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await jobs.rerunFailed(context, SWEEP);
  expect(argvs()).toEqual(['jobs rerun id-41 --failed --dry-run']);
  expect(editor.seen.at(-1)).toBe('pick: Rerun 41 sweep: 1 task');
});

test('Rerun Failed Tasks of the palette offers only jobs with such tasks', async () => {
  const { context, editor } = lab(PLAY);
  await jobs.rerunFailed(context);
  expect(editor.picked.map(({ label }) => label)).toEqual(['41 sweep']);
});

test('Cancel names what the CLI would end, and asks', async () => {
  const no = lab(PLAY);
  await jobs.cancelJobs(no.context, [SWEEP]);
  expect(no.editor.seen).toContain('confirm: End job 41 (sweep)?');
  expect(no.editor.details).toEqual(['What it made so far is still collected.']);
  expect(no.argvs()).toEqual(['cancel id-41 --dry-run']);
  const yes = lab(PLAY, { 'End job 41 (sweep)?': true });
  await jobs.cancelJobs(yes.context, [SWEEP, EVAL]);
  expect(yes.argvs()).toEqual(['cancel id-41 id-40 --dry-run', 'cancel id-41 id-40 --yes']);
  expect(yes.editor.seen.at(-1)).toBe('refresh jobs');
});

test('Cancel of the palette offers only what is open', async () => {
  const { context, editor } = lab(PLAY);
  await jobs.cancelJobs(context, []);
  expect(editor.picked.map(({ label }) => label)).toEqual([
    ...['id-xx new', '41 sweep', '41_0 sweep'],
  ]);
});

test('a job that has ended meanwhile is told, nothing is asked, and the view is asked for again', async () => {
  const { context, editor } = lab({
    cancel: { steps: [{ hello: true }, failure('job.not_ready', 'job 41 has ended already')] },
  });
  await expect(jobs.cancelJobs(context, [SWEEP])).rejects.toThrow('has ended already');
  expect(editor.seen.filter((line) => line.startsWith('confirm'))).toEqual([]);
  expect(editor.seen.at(-1)).toBe('refresh jobs');
});

test('Debug This Task makes the copy, then opens its shell in a terminal', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await jobs.debugTask(context, TASK);
  expect(argvs()).toEqual(['jobs debug id-41_1']);
  expect(editor.seen.at(-1)).toBe(
    'terminal: scratchflow: debug 41_1: jobs debug id-41_1 --profile aws',
  );
});

test('Debug This Task without a node opens no terminal', async () => {
  const none = failure('allocation.none', 'you hold no node');
  const { context, editor } = lab({ 'jobs debug': { steps: [{ hello: true }, none] } });
  await expect(jobs.debugTask(context, TASK)).rejects.toThrow('you hold no node');
  expect(editor.seen.filter((line) => line.startsWith('terminal'))).toEqual([]);
});

test('Compare Two Jobs takes two selected rows, or asks for the other', async () => {
  const two = lab(PLAY);
  await jobs.compareJobs(two.context, [SWEEP, EVAL]);
  expect(two.argvs()).toEqual(['jobs diff id-41 id-40']);
  expect(two.editor.seen.at(-1)).toBe('text: jobs 41 and 40.txt: they are the same');
  const one = lab(PLAY, { 'Compare 41 sweep with': '40 eval' });
  await jobs.compareJobs(one.context, [SWEEP]);
  expect(one.argvs()).toEqual(['jobs', 'jobs diff id-41 id-40']);
  expect(one.editor.picked.map(({ label }) => label)).not.toContain('41 sweep');
});

test('Copy Job Id copies what Slurm calls it', async () => {
  const { context, editor } = lab(PLAY);
  await jobs.copyJob(context, TASK);
  expect(editor.seen).toEqual(['copied: 41_1']);
});
