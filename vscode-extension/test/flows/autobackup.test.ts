import { expect, test } from 'vitest';
import { autobackup, keepSafe } from '../../src/flows/autobackup';
import { answering } from '../fakeCli';
import { NO_NODE, WITH_NODE } from '../pictures';
import { lab } from './lab';

const ON = answering({ enabled: true, changed: true, node: 'node-1', every_s: 1800 });
const OFF = answering({ enabled: false, changed: true, node: 'node-1', every_s: 1800 });
const PLAY = { 'autobackup on': ON, 'autobackup off': OFF };
const without = { ...WITH_NODE, autobackup: { enabled: false, every_s: 1800 } };

test('off becomes on, as often as the user likes', async () => {
  const { context, editor, argvs } = lab(PLAY, {}, without);
  editor.settings.set('backup.every', '10m');
  await autobackup(context);
  expect(argvs()).toEqual(['autobackup on --set backup.every=10m']);
  expect(editor.seen.at(-1)).toBe('info: Auto-backup is on: node-1 takes a snapshot every 30 min.');
});

test('without a workspace no time of a next backup is promised, and Start Working is offered', async () => {
  const next_time = '2026-11-15T12:30:00Z';
  const on = { enabled: true, changed: true, node: 'node-1', every_s: 1800, next_time };
  const idle = answering({ ...on, workspace_exists: false });
  const answers = { 'Auto-backup is on': 'Start Working' };
  const { context, editor } = lab({ 'autobackup on': idle }, answers, without);
  await autobackup(context);
  expect(editor.seen.slice(-2)).toEqual([
    'info: Auto-backup is on: node-1 takes a snapshot every 30 min, once there is a workspace. | Start Working',
    'command: scratchflow.up',
  ]);
});

test('on becomes off only after a yes', async () => {
  const asked = lab(PLAY, {}, WITH_NODE);
  await autobackup(asked.context);
  expect(asked.argvs()).toEqual([]);
  const sure = lab(PLAY, { 'Turn auto-backup off?': true }, WITH_NODE);
  await autobackup(sure.context);
  expect(sure.argvs()).toEqual(['autobackup off']);
});

test('one that gives no sign of life is started again', async () => {
  const overdue = { ...WITH_NODE.autobackup, overdue: true };
  const { context, argvs } = lab(PLAY, {}, { ...WITH_NODE, autobackup: overdue });
  await autobackup(context);
  expect(argvs()).toEqual(['autobackup on']);
});

test('it is turned on by itself for a workspace on a node, unless the user does not like that', async () => {
  const wanted = lab(PLAY, {}, without);
  await keepSafe(wanted.context);
  expect(wanted.argvs()).toEqual(['autobackup on']);
  const unwanted = lab(PLAY, {}, without);
  unwanted.editor.settings.set('autoBackup', false);
  await keepSafe(unwanted.context);
  const noNode = lab(PLAY, {}, { ...NO_NODE, autobackup: without.autobackup });
  await keepSafe(noNode.context);
  expect([...unwanted.argvs(), ...noNode.argvs()]).toEqual([]);
});
