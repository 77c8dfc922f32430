import { moment } from '../../src/format/words';
import { describe, expect, test } from 'vitest';
import { crashed } from '../../src/cli/problem';
import { next, UNKNOWN } from '../../src/state/state';
import { allocationRows, autobackupRows } from '../../src/views/allocation';
import { NO_NODE, NOW, PENDING, seeing, WITH_NODE } from '../pictures';

const lost = { is: 'waiting', problem: crashed('x'), retryAtMs: NOW } as const;

describe('the view Allocation', () => {
  const texts = (rows: ReturnType<typeof allocationRows>) =>
    rows.map(({ label, description }) => `${label}: ${description}`);

  test('shows node, time, workspace, backup and the ssh name', () => {
    const rows = texts(allocationRows(seeing(WITH_NODE), NOW));
    expect(rows[0]).toBe('Node: node-1');
    expect(rows[1]).toMatch(/^Time left: 3 h \(until today, \d\d:00\)$/);
    expect(rows.slice(2)).toEqual([
      'Workspace: /scratch/alice/work',
      'Last backup: 20 min ago',
      'ssh: compile_machine',
    ]);
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
      'Node: node-1',
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

test('the view Auto-Backup says on or off, the next time and the last error', () => {
  const rows = autobackupRows(seeing(WITH_NODE), NOW);
  expect(rows.map(({ label }) => label)).toEqual(['On', 'Next']);
  const autobackup = {
    ...WITH_NODE.autobackup,
    enabled: false,
    last_error: 'no space',
  };
  const off = autobackupRows(seeing({ ...WITH_NODE, autobackup }), NOW);
  expect(off.map(({ label }) => label)).toEqual(['Off', 'no space']);
  const idle = autobackupRows(seeing({ ...NO_NODE, autobackup }), NOW);
  expect(idle[0]).toMatchObject({ label: 'Off', description: 'needs a compute node' });
  expect(autobackupRows(UNKNOWN, NOW)).toEqual([]);
});

test('what the auto-backup could not read is shown', () => {
  const unsaved_paths = ['work/a', 'work/b'];
  const autobackup = { ...WITH_NODE.autobackup, enabled: true, unsaved: 2, unsaved_paths };
  const rows = autobackupRows(seeing({ ...WITH_NODE, autobackup }), NOW);
  expect(rows.at(-1)).toMatchObject({
    label: '2 paths are not saved',
    tooltip: 'The last backup could not read: work/a, work/b',
    tint: 'bad',
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
