import { moment } from '../../src/format/words';
import { describe, expect, test } from 'vitest';
import { crashed } from '../../src/cli/problem';
import type { StatusShown } from '../../src/cli/protocol';
import { next, UNKNOWN } from '../../src/state/state';
import { allocationRows } from '../../src/views/allocation';
import { NO_NODE, NOW, PENDING, seeing, WITH_NODE } from '../pictures';

const lost = { is: 'waiting', problem: crashed('x'), retryAtMs: NOW } as const;

describe('the view Allocation', () => {
  const texts = (rows: ReturnType<typeof allocationRows>) =>
    rows.map(({ label, description }) => `${label}: ${description}`);

  test('shows node, ssh name, time, workspace and backups, each once', () => {
    const rows = texts(allocationRows(seeing(WITH_NODE), NOW));
    expect(rows[0]).toBe('Node: node-1 · ssh compile_machine');
    expect(rows[1]).toMatch(/^Time left: 3 h, until \d\d:00$/);
    expect(rows.slice(2, 4)).toEqual(['Workspace: /scratch/alice/work', 'Last backup: 20 min ago']);
    expect(rows.slice(4)).toEqual([
      expect.stringMatching(/^Auto-backup: next \d\d:10, every 30 min$/),
    ]);
  });

  test('promises no next backup where there is no workspace', () => {
    const workspace = { ...WITH_NODE.workspace, exists: false };
    const rows = texts(allocationRows(seeing({ ...WITH_NODE, workspace }), NOW));
    expect(rows).toContain('Auto-backup: every 30 min, once there is a workspace');
  });

  test('asks the profile that a window was switched to', () => {
    const switched = next(seeing(WITH_NODE), { type: 'switched', profile: 'azure' });
    expect(allocationRows(switched, NOW).map(({ label }) => label)).toEqual(['Asking azure…']);
    expect(allocationRows(UNKNOWN, NOW)).toEqual([]);
  });

  test('says what is at work on the store, on which host and since when', () => {
    const since = '2026-11-15T11:59:00Z';
    const running = { doing: 'backup', host: 'node-1', since };
    const rows = texts(allocationRows(seeing({ ...WITH_NODE, running }), NOW));
    expect(rows).toContain(`Backup is running: on node-1 since ${moment(since, NOW)}`);
  });

  test('lists the further nodes, and what was changed there', () => {
    const nodes = ['node-1', 'node-2', 'node-3', 'node-4'];
    const allocation = WITH_NODE.allocation && { ...WITH_NODE.allocation, nodes };
    const copies = [
      { node: 'node-2', changed: 1 },
      { node: 'node-3', changed: 0 },
      { node: 'node-4', changed: null, reason: 'no answer' },
    ];
    const rows = allocationRows(seeing({ ...WITH_NODE, allocation, copies }), NOW);
    expect(texts(rows).slice(0, 4)).toEqual([
      'Node: node-1 · ssh compile_machine',
      'Node 2: node-2: differs: 1 file',
      'Node 3: node-3: the same',
      'Node 4: node-4: not looked at',
    ]);
    expect(rows[1]?.tint).toBe('warning');
    expect(rows[2]?.tint).toBeUndefined();
  });

  test('leads to the next step when the workspace is not there yet', () => {
    const workspace = { ...WITH_NODE.workspace, exists: null };
    const row = allocationRows(seeing({ ...WITH_NODE, workspace }), NOW)[2];
    expect(row).toMatchObject({
      description: 'not on this node yet',
      command: 'scratchflow.restore',
    });
    const snapshots = { ...WITH_NODE.snapshots, count: 0 };
    const first = allocationRows(seeing({ ...WITH_NODE, workspace, snapshots }), NOW)[2];
    expect(first?.command).toBe('scratchflow.create');
  });

  test('says why one waits', () => {
    const allocation = WITH_NODE.allocation && {
      ...WITH_NODE.allocation,
      state: 'pending' as const,
      reason: 'it is next',
    };
    const rows = texts(allocationRows(seeing({ ...WITH_NODE, allocation }), NOW));
    expect(rows.slice(0, 2)).toEqual(['Waiting in the queue: undefined', 'It is next: undefined']);
  });

  test('is empty without a node, so that the welcome shows', () => {
    expect(allocationRows(seeing(NO_NODE), NOW)).toEqual([]);
    expect(allocationRows(UNKNOWN, NOW)).toEqual([]);
    expect(texts(allocationRows({ ...UNKNOWN, link: lost }, NOW))).toEqual([
      'Connection lost: trying again',
    ]);
  });
});

describe('without a cluster', () => {
  const here: StatusShown = { ...NO_NODE, profile: 'local', alias: null, profiles: 1 };
  const workspace = { path: '/home/alice/work', exists: true, base_snapshot: null };

  test('says which profile it is, where the workspace is, and how it is saved', () => {
    const rows = allocationRows(seeing({ ...here, workspace }), NOW);
    expect(rows.map(({ label }) => label)).toEqual([
      ...['Profile', 'Workspace', 'Last backup', 'Auto-backup'],
    ]);
    expect(rows[0]).toMatchObject({
      description: 'local · on this machine',
      command: 'scratchflow.switchProfile',
    });
    expect(rows[3]?.description).toMatch(/^next \d\d:10, every 30 min$/);
  });

  test('a session that `up --local` holds is no compute node', () => {
    const session = { ...here, workspace, allocation: WITH_NODE.allocation };
    expect(allocationRows(seeing(session), NOW)).toEqual(
      allocationRows(seeing({ ...here, workspace }), NOW),
    );
  });

  test('leads to Set Up Cluster where there is none to switch to', () => {
    const [first] = allocationRows(seeing({ ...here, profiles: 0, workspace }), NOW);
    expect(first).toMatchObject({ label: 'No cluster', command: 'scratchflow.setup' });
  });

  test('and without a workspace it is empty, so that the welcome shows', () => {
    const none = { ...workspace, exists: false };
    expect(allocationRows(seeing({ ...here, workspace: none }), NOW)).toEqual([]);
  });
});

describe('auto-backup', () => {
  const rowsOf = (given: Partial<StatusShown['autobackup']>) => {
    const autobackup = { ...WITH_NODE.autobackup, ...given };
    return allocationRows(seeing({ ...WITH_NODE, autobackup }), NOW).slice(4);
  };

  test('that is off is turned on by a click; the last error is shown', () => {
    const [off, error] = rowsOf({ enabled: false, last_error: 'no space' });
    expect(off).toMatchObject({ label: 'Auto-backup', command: 'scratchflow.autobackup' });
    expect(off?.description).toMatch(/^off/);
    expect(error).toMatchObject({ label: 'no space', tint: 'bad' });
  });

  test('that gives no sign of life is started again by a click', () => {
    expect(rowsOf({ overdue: true })[0]).toMatchObject({
      description: 'overdue (every 30 min)',
      tint: 'bad',
      command: 'scratchflow.autobackup',
    });
  });

  test('says what it could not read', () => {
    expect(rowsOf({ unsaved: 2, unsaved_paths: ['work/a', 'work/b'] }).at(-1)).toMatchObject({
      label: '2 paths are not saved',
      tooltip: 'The last backup could not read: work/a, work/b',
      tint: 'bad',
    });
  });

  test('needs a node: without one there is nothing to tell', () => {
    expect(allocationRows(seeing(NO_NODE), NOW)).toEqual([]);
  });
});

test('a request in the queue can be withdrawn, whoever made it', () => {
  const rows = allocationRows(seeing(PENDING), NOW);
  expect(rows.at(-1)).toMatchObject({ command: 'scratchflow.withdraw' });
});

test('rows that nobody keeps up to date say since when', () => {
  const link = { is: 'paused' } as const;
  const paused = next(seeing(WITH_NODE), { type: 'link', link });
  expect(allocationRows(paused, NOW)[0]).toMatchObject({
    label: 'Not looked at',
    description: `as of ${moment(new Date(NOW).toISOString(), NOW)}`,
  });
});
