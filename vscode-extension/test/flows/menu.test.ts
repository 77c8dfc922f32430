import { expect, test } from 'vitest';
import { menu, namesFor } from '../../src/flows/menu';
import { missing } from '../../src/cli/problem';
import { next } from '../../src/state/state';
import { NO_NODE, PENDING, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

test('the menu offers what makes sense now', async () => {
  expect(namesFor(seeing(NO_NODE)).slice(0, 2)).toEqual(['up', 'allocate']);
  expect(namesFor(seeing(WITH_NODE))[0]).toBe('open');
  expect(namesFor(seeing(PENDING))[0]).toBe('withdraw');
  expect(namesFor(seeing(WITH_NODE))).not.toContain('allocate');
  expect(namesFor(seeing({ ...NO_NODE, alias: null }))[0]).toBe('backup');
  expect(namesFor(seeing({ ...NO_NODE, alias: null }))).not.toContain('nodes');
  const session = { ...WITH_NODE, profile: 'local', alias: null, profiles: 1 };
  expect(namesFor(seeing(session))).toEqual(expect.arrayContaining(['backup', 'switchProfile']));
  expect(namesFor(seeing(session))).not.toContain('hop');
  const link = { is: 'stopped', problem: missing() } as const;
  expect(namesFor(next(seeing(NO_NODE), { type: 'link', link }))).toEqual(['install', 'log']);
  const { context, editor } = lab({}, { scratchflow: '$(cloud-upload) Run Backup' }, WITH_NODE);
  await menu(context);
  expect(editor.seen.at(-1)).toBe('command: scratchflow.backup');
});

test.each([
  ['with a node', WITH_NODE],
  ['without a node', NO_NODE],
  ['in the queue', PENDING],
  ['without a cluster', { ...NO_NODE, alias: null, profile: 'local', profiles: 1 }],
])('every entry of the menu says what it does, %s', async (_, status) => {
  const { context, editor } = lab({}, {}, status);
  await menu(context);
  expect(editor.picked.filter(({ description }) => !description)).toEqual([]);
});
