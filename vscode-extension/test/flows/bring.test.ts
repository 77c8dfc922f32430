import { expect, test } from 'vitest';
import { guarded } from '../../src/flows/context';
import { backup } from '../../src/flows/workspace';
import { failure } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const HINT =
  '`scratchflow restore` brings the last snapshot there; `scratchflow create` starts a new one';
const missing = failure('workspace.missing', 'there is no workspace', HINT);
const PLAY = { backup: { steps: [{ hello: true }, missing] } };

test('without a workspace the snapshot is offered, or a new one where there is none', async () => {
  const answers = { 'There is no workspace': 'Create Workspace' };
  const snapshots = { ...WITH_NODE.snapshots, count: 0, last_id: null };
  const empty = lab(PLAY, answers, { ...WITH_NODE, snapshots });
  await guarded(empty.context, backup)();
  expect(empty.editor.seen.at(-1)).toBe('command: scratchflow.create');
  const filled = lab(PLAY, {}, WITH_NODE);
  await guarded(filled.context, backup)();
  expect(filled.editor.seen.at(-1)).toContain('| Initialize Scratch Space |');
});
