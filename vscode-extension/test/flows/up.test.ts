import { expect, test } from 'vitest';
import { hop, up } from '../../src/flows/up';
import { phaseOf } from '../../src/state/state';
import { answering, playing, summary, type Play } from '../fakeCli';
import { node } from '../nodes';
import { NO_NODE, WITH_NODE } from '../pictures';
import { lab } from './lab';

const READY = {
  job_id: 7,
  node: 'node-1',
  end_time: null,
  alias: 'compile_machine',
  changed: true,
  editor: { path: '/scratch/alice/work', host: 'compile_machine', exists: true },
};
const HOPPED = {
  from_node: 'node-1',
  from_job_id: 7,
  node: 'node-2',
  job_id: 8,
  end_time: null,
  snapshot: 'x',
};
const pending = { line: { type: 'state', state: 'pending', previous: null, reason: 'Priority' } };
const PLAY: Play = {
  'config show': playing('config-show'),
  nodes: answering({ nodes: [node('node-1'), node('node-2')] }),
  up: { steps: [{ hello: true }, pending, summary(READY)] },
  hop: { steps: [{ hello: true }, pending, summary(HOPPED)] },
};

test('Start Working shows the wait and then offers to open the workspace', async () => {
  const { context, editor, store, argvs } = lab(
    PLAY,
    { 'All is ready on node-1': 'Open Workspace' },
    NO_NODE,
  );
  editor.settings.set('backup.every', '10m');
  const phases: string[] = [];
  store.onChange((picture) => phases.push(phaseOf(picture)));
  await up(context);
  expect(argvs().at(-1)).toBe('up --keep-waiting --set backup.every=10m');
  expect(phases).toEqual(['waiting', 'waiting', 'none']);
  expect(editor.seen.slice(-2)).toEqual([
    'info: All is ready on node-1. | Open Workspace',
    'folder: compile_machine:/scratch/alice/work',
  ]);
});

test('Start Working with a node keeps it in sight', async () => {
  const { context, store } = lab(PLAY, {}, WITH_NODE);
  const phases = new Set<string>();
  store.onChange((picture) => phases.add(phaseOf(picture)));
  await up(context);
  expect([...phases]).toEqual(['held']);
});

test('Move to Another Node asks first, and says what to do about open windows', async () => {
  const answers = { 'Move to Another Node': 'node-2', 'Move from node-1 to node-2?': true };
  const { context, editor, argvs } = lab(PLAY, answers, WITH_NODE);
  await hop(context);
  expect(argvs().at(-1)).toBe('hop --node node-2');
  expect(editor.seen.at(-1)).toContain('You are on node-2 now; node-1 is given back.');
});

test('Move to Another Node does nothing without a yes', async () => {
  const { context, argvs } = lab(PLAY, { 'Move to Another Node': 'Any free node' }, WITH_NODE);
  await hop(context);
  expect(argvs()).toEqual(['nodes']);
});

test('Move to Another Node does not offer the node that is held', async () => {
  const nodes = answering({ nodes: [node('node-1'), node('node-2')] });
  const { context, editor } = lab({ ...PLAY, nodes }, {}, WITH_NODE);
  await hop(context);
  expect(editor.picked.map(({ label }) => label)).toEqual(['Any free node', 'node-2']);
});
