import { expect, test } from 'vitest';
import { moveTo } from '../../src/flows/clusters';
import { answering, type Play } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const HOPPED = {
  source: 'aws',
  to: 'mila',
  from_node: 'node-1',
  from_job_id: 7,
  node: 'n3',
  job_id: 8,
  end_time: null,
  alias: 'mila_machine',
  snapshot: 'x',
};
const PLAY: Play = {
  hop: answering(HOPPED),
  open: answering({ path: '/scratch/alice/work', host: 'mila_machine', exists: true }),
};
const QUESTION = 'Move the workspace from aws to mila?';

test('the workspace moves to the other cluster, and the window goes along', async () => {
  const done = 'The workspace is on n3 of mila';
  const { context, editor, argvs } = lab(
    PLAY,
    { [QUESTION]: true, [done]: 'Open Workspace' },
    WITH_NODE,
  );
  await moveTo(context, { profile: 'mila' });
  expect(argvs()).toEqual(['hop --to mila --keep-waiting', 'open --print']);
  expect(editor.seen).toEqual([
    `confirm: ${QUESTION}`,
    'progress: Moving to mila',
    'here: profile = "mila"',
    'reconnect',
    `info: ${done}, and so is this window. | Open Workspace`,
    'progress: Looking for the workspace',
    'folder: mila_machine:/scratch/alice/work',
  ]);
});

test('without a yes nothing moves', async () => {
  const { context, editor, argvs } = lab(PLAY, {}, WITH_NODE);
  await moveTo(context, { profile: 'mila' });
  expect(argvs()).toEqual([]);
  expect(editor.seen).toEqual([`confirm: ${QUESTION}`]);
});
