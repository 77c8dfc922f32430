import { expect, test } from 'vitest';
import { dashboard, type Ingredients } from '../../src/dashboard/model';
import type { SnapshotRow } from '../../src/cli/protocol';
import { next, UNKNOWN } from '../../src/state/state';
import { node } from '../nodes';
import { NO_NODE, NOW, seeing, SERVING, WITH_NODE, withLeft } from '../pictures';

const snapshot = (time: string, given: Partial<SnapshotRow> = {}): SnapshotRow => ({
  ...{ id: time, time, kind: 'incremental', parent: null, node: 'node-1', files: 10, bytes: 5000 },
  ...{ stored_bytes: 100, verified: true, message: '', damaged: null },
  ...given,
});

const all = {
  picture: seeing(WITH_NODE),
  snapshots: [
    snapshot('2026-11-15T10:00:00Z', { kind: 'full', stored_bytes: 10_000 }),
    snapshot('2026-11-15T10:30:00Z'),
    snapshot('2026-11-15T11:00:00Z', { damaged: 'cut short' }),
  ],
  nodes: [node('a', { cpus_free: 4, warm: 'x' }), node('b', { available: false })],
  nowMs: NOW,
} satisfies Ingredients;

test('the time-left bar is what is left of what was', () => {
  expect(dashboard(all).timeLeft).toMatchObject({ share: 0.5, tint: 'good' });
  expect(dashboard({ ...all, picture: seeing(withLeft(600)) }).timeLeft?.tint).toBe('bad');
});

test('each fact stands once: the headline is the node, and the time has its bar', () => {
  const { headline, facts } = dashboard(all);
  expect(headline).toBe('node-1');
  expect(facts.map(({ name }) => name)).toEqual([
    'Profile',
    'Workspace',
    'Last backup',
    'Auto-backup',
  ]);
});

test('the timeline has a line where each day begins, unless they would be too many', () => {
  const over = (...times: string[]) =>
    dashboard({ ...all, snapshots: times.map((time) => snapshot(time)) }).timeline.days;
  const week = over('2026-11-09T12:00:00', '2026-11-15T12:00:00');
  expect(week.map(({ label }) => label)).toEqual(['Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']);
  expect(week[0]?.x).toBeCloseTo(1 / 12);
  expect(over('2026-11-15T10:00:00', '2026-11-15T12:00:00')).toEqual([]);
  expect(over('2026-08-15T10:00:00', '2026-11-15T12:00:00')).toEqual([]);
});

test('the timeline places snapshots by time and makes small ones visible', () => {
  const { marks } = dashboard(all).timeline;
  expect(marks.map(({ x }) => x)).toEqual([0, 0.5, 1]);
  expect(marks.map(({ height }) => height)).toEqual([1, 0.1, 0.1]);
  expect(marks.map(({ tint }) => tint)).toEqual(['good', 'good', 'bad']);
  expect(dashboard(all).snapshotsText).toBe(
    '3 snapshots, 10.0 KiB in all. The last one holds 10 files (4.9 KiB).',
  );
});

test('the nodes’ strip shows how much is free', () => {
  const { cells, nodesText } = dashboard(all);
  expect(cells[0]).toMatchObject({
    ...{ name: 'a', text: '4/16 CPUs', free: 0.25, isWarm: true },
  });
  // The box draws the number that stands first.
  const gpus = node('c', { gpus: 4, gpus_free: 3, gpu_type: 'a100', cpus_free: 8 });
  const busy = node('d', { gpus: 4, gpus_free: 1, gpu_type: 'a100', cpus_free: 8 });
  expect(dashboard({ ...all, nodes: [gpus, busy] }).cells).toMatchObject([
    { text: '8/16 CPUs', free: 0.5, more: '3/4 a100' },
    { text: '1/4 a100', free: 0.25, more: '8/16 CPUs' },
  ]);
  expect(cells[1]).toMatchObject({ isAvailable: false });
  expect(nodesText).toBe('1 of 2 nodes with something free, 1 warm.');
});

test('legends explain what there is to see, and nothing else', () => {
  const shown = dashboard(all);
  expect(shown.timeline.legend).toContain('Dashed: damaged.');
  expect(shown.nodesLegend).toContain('Warm: still holds a copy of your workspace.');
  expect(shown.nodesLegend).toContain('Dashed: not available now.');
  const plainest = dashboard({ ...all, snapshots: all.snapshots.slice(0, 2), nodes: [node('a')] });
  expect(plainest.timeline.legend).not.toContain('Dashed');
  expect(plainest.nodesLegend).toBe(
    'A box is as full as its first number says: what is free of what is scarcest.',
  );
});

test('what is served is listed, without a token', () => {
  const { services } = dashboard({ ...all, picture: seeing(SERVING) });
  expect(services.map(({ name, isRunning }) => [name, isRunning])).toEqual([
    ['tensorboard', true],
    ['jupyter', true],
    ['app', false],
    ['port-8888', true],
  ]);
  expect(dashboard(all).services).toEqual([]);
});

test('without snapshots it says what to do', () => {
  const none = dashboard({ ...all, picture: seeing(NO_NODE), snapshots: [] });
  expect(none.snapshotsText).toContain('Once there is a workspace');
  expect([none.canStart, dashboard(all).canStart]).toEqual([true, false]);
  const empty = dashboard({
    picture: seeing(WITH_NODE),
    snapshots: [],
    nodes: [],
    nowMs: NOW,
  });
  expect(empty.timeline.marks).toEqual([]);
  expect(empty.snapshotsText).toContain('Run Backup');
});

test('what the auto-backup could not read is a fact', () => {
  const autobackup = { ...WITH_NODE.autobackup, enabled: true, unsaved: 1 };
  const { facts } = dashboard({ ...all, picture: seeing({ ...WITH_NODE, autobackup }) });
  expect(facts.at(-1)).toMatchObject({ value: '1 path is not saved', tint: 'bad' });
});

test('without a cluster there are no nodes to speak of', () => {
  expect(dashboard(all).hasCluster).toBe(true);
  const here = seeing({ ...WITH_NODE, allocation: null, alias: null });
  expect(dashboard({ ...all, picture: here }).hasCluster).toBe(false);
});

test('a list that cannot be had is not told as an empty one, and what is old says so', () => {
  const problem = {
    ...{ code: 'connection.lost', message: 'no connection to `login`' },
    ...{ hint: '', retryable: true },
  };
  const lost = next(all.picture, {
    ...{ type: 'link', link: { is: 'waiting', problem, retryAtMs: NOW } },
  });
  const { facts, snapshotsText, nodesText } = dashboard({
    ...{ picture: lost, snapshots: problem, nodes: problem, nowMs: NOW },
  });
  expect(facts[0]).toMatchObject({ name: 'As of', tint: 'warning' });
  expect([snapshotsText, nodesText]).toEqual(
    Array(2).fill('Not known now. No connection to `login`.'),
  );
  const unasked = dashboard({ ...all, picture: UNKNOWN, snapshots: undefined, nodes: undefined });
  expect([unasked.snapshotsText, unasked.nodesText]).toEqual(['Not known yet.', 'Not known yet.']);
});
