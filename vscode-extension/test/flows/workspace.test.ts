import { expect, test } from 'vitest';
import { clear } from '../../src/flows/clear';
import { backup, create, restore, restored } from '../../src/flows/workspace';
import { answering, playing } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

test('Run Backup shows progress and what was stored, and leads to the snapshots', async () => {
  const { context, editor } = lab(
    { backup: playing('backup') },
    { 'Backed up': 'Browse Snapshots' },
  );
  await backup(context);
  expect(editor.seen[0]).toBe('progress: Backing up');
  expect(editor.seen.some((line) => line === '  scan')).toBe(true);
  expect(editor.seen.slice(-3)).toEqual([
    'refresh',
    'info: Backed up: 196 files (820.2 KiB) changed, 395.3 KiB stored in 1 s. | Browse Snapshots',
    'command: scratchflow.snapshots',
  ]);
});

test('Run Backup says when there was nothing to do', async () => {
  const { context, editor } = lab({ backup: playing('unchanged') });
  await backup(context);
  expect(editor.seen.at(-1)).toContain('Nothing changed since the last snapshot');
});

test('Initialize Scratch Space says how much was written', async () => {
  const { context, editor } = lab({ restore: playing('restore') });
  await restore(context);
  expect(editor.seen.at(-1)).toContain('only the difference was written, 2 files (19.3 KiB)');
});

test('a restore that only removes says so', () => {
  const done = { snapshot: 'a', mode: 'delta' as const, target: '/s', files: 0, bytes: 0 };
  const counts = { written_files: 0, written_bytes: 0, duration_s: 1, removed: 1 };
  expect(restored({ ...done, ...counts })).toContain('0 files (0 B), 1 path removed.');
});

test('Create Workspace says where it is', async () => {
  const { context, editor } = lab({ create: playing('create') });
  await create(context);
  expect(editor.seen.at(-1)).toContain('/home/alice/.local/share/scratchflow/scratch/work');
});

test('Open Workspace is offered when auto-backup is on, not before', async () => {
  const autobackup = { enabled: false, every_s: 1800 };
  const on = answering({ enabled: true, changed: true, node: 'node-1', every_s: 1800 });
  const { context, editor, argvs } = lab(
    { restore: playing('restore'), 'autobackup on': on },
    {},
    { ...WITH_NODE, autobackup },
  );
  await restore(context);
  expect(argvs()).toEqual(['restore', 'autobackup on']);
  expect(editor.seen.filter((line) => line.startsWith('info'))).toHaveLength(1);
  expect(editor.seen.at(-1)).toMatch(/Auto-backup is on: node-1 .* \| Open Workspace$/);
});

const cleared = answering({ job_id: 7, snapshot: '20261115T120000Z-bbbbbb', released: true });

test('Clear Tmux asks first, then gives the node back', async () => {
  const { context, editor, argvs } = lab(
    { clear: cleared },
    { 'Give node-1 back?': true },
    WITH_NODE,
  );
  await clear(context);
  expect(argvs()).toEqual(['clear']);
  expect(editor.seen.at(-1)).toBe(
    'info: The node is released. Everything is safe in the last snapshot.',
  );
});

test('Clear Tmux does nothing without a yes', async () => {
  const { context, argvs } = lab({ clear: cleared }, {}, WITH_NODE);
  await clear(context);
  expect(argvs()).toEqual([]);
});
