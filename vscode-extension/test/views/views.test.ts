import { describe, expect, test } from 'vitest';
import { crashed, missing } from '../../src/problem';
import { next, UNKNOWN } from '../../src/state';
import { allocationRows, autobackupRows } from '../../src/views/allocation';
import { Listing, problemRow } from '../../src/views/listing';
import { nodeRows } from '../../src/views/nodes';
import { snapshotRows } from '../../src/views/snapshots';
import { statusBar } from '../../src/views/statusBar';
import type { SnapshotRow } from '../../src/protocol';
import { fakeCli, playing } from '../fakeCli';
import { node } from '../nodes';
import { NO_NODE, NOW, seeing, withLeft, WITH_NODE } from '../pictures';

const lost = { is: 'waiting', problem: crashed('x'), retryAtMs: NOW } as const;
const stopped = { is: 'stopped', problem: missing() } as const;

describe('the status bar', () => {
  test('says node, time left and age of the last backup', () => {
    expect(statusBar(seeing(WITH_NODE), NOW)).toMatchObject({
      text: '$(server-process) node-1 · 3 h left · backup 20 min ago',
      alarm: 'none',
    });
  });

  test('is red when the node goes soon, yellow when a backup is late', () => {
    expect(statusBar(seeing(withLeft(800)), NOW).alarm).toBe('error');
    expect(statusBar(seeing(WITH_NODE), NOW + 3600_000)).toMatchObject({ alarm: 'warning' });
  });

  test('says so when there is no node, no answer, or no CLI', () => {
    expect(statusBar(seeing(NO_NODE), NOW).text).toContain('no node');
    expect(statusBar(seeing({ ...NO_NODE, alias: null }), NOW).text).toBe(
      '$(vm) this machine · backup 20 min ago',
    );
    expect(statusBar(UNKNOWN, NOW).text).toContain('sync~spin');
    expect(statusBar({ ...UNKNOWN, link: stopped }, NOW)).toMatchObject({
      text: '$(desktop-download) scratchflow: install',
      alarm: 'warning',
    });
  });

  test('keeps the picture when the connection is lost, and tells of it in the tooltip', () => {
    const bar = statusBar(next(seeing(WITH_NODE), { type: 'link', link: lost }), NOW);
    expect(bar.text).toContain('node-1');
    expect(bar.tooltip).toContain('tried again');
  });

  test('cannot be given icons by a node’s name', () => {
    const allocation = WITH_NODE.allocation && { ...WITH_NODE.allocation, node: '$(flame)' };
    expect(statusBar(seeing({ ...WITH_NODE, allocation }), NOW).text).not.toContain('$(flame)');
  });
});

describe('the view Allocation', () => {
  const said = (rows: ReturnType<typeof allocationRows>) =>
    rows.map(({ label, description }) => `${label}: ${description}`);

  test('shows node, time, workspace, backup and the ssh name', () => {
    const rows = said(allocationRows(seeing(WITH_NODE), NOW));
    expect(rows[0]).toBe('Node: node-1');
    expect(rows[1]).toMatch(/^Time left: 3 h \(until today, \d\d:00\)$/);
    expect(rows.slice(2)).toEqual([
      'Workspace: /scratch/alice/work',
      'Last backup: 20 min ago',
      'ssh: compile_machine',
    ]);
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
      reason: 'Priority',
    };
    const rows = said(allocationRows(seeing({ ...WITH_NODE, allocation }), NOW));
    expect(rows).toEqual(['Waiting in the queue: undefined', 'Priority: undefined']);
  });

  test('is empty without a node, so that the welcome shows', () => {
    expect(allocationRows(seeing(NO_NODE), NOW)).toEqual([]);
    expect(allocationRows(UNKNOWN, NOW)).toEqual([]);
    expect(said(allocationRows({ ...UNKNOWN, link: lost }, NOW))).toEqual([
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
  expect(autobackupRows(UNKNOWN, NOW)).toEqual([]);
});

describe('the view Snapshots', () => {
  const row: SnapshotRow = {
    ...{
      id: 'a',
      time: '2026-11-15T11:40:00Z',
      kind: 'full',
      parent: null,
      node: 'node-1',
      files: 3,
    },
    ...{ bytes: 2048, stored_bytes: 1024, verified: true, message: 'before lunch', damaged: null },
  };

  test('has the newest first, with size, node and message', () => {
    const { cli } = fakeCli({});
    const rows = snapshotRows(
      cli,
      [row, { ...row, id: 'b', kind: 'incremental', message: '' }],
      NOW,
    );
    expect(rows.map(({ ref }) => ref)).toEqual([{ id: 'b' }, { id: 'a' }]);
    expect(rows[1]?.description).toBe('1.0 KiB · node-1 · before lunch');
    expect(rows[0]?.description).toBe('+1.0 KiB · node-1');
  });

  test('marks a damaged one and offers no restore for it', () => {
    const { cli } = fakeCli({});
    const rows = snapshotRows(cli, [{ ...row, damaged: 'cut short' }], NOW);
    expect(rows[0]).toMatchObject({ kind: 'damaged', tint: 'bad' });
  });

  test('opens into directories and files', async () => {
    const { cli, replay, calls } = fakeCli({ 'snapshots show': playing('snapshots-show-top') });
    const [top] = (await snapshotRows(cli, [row], NOW)[0]?.children?.()) ?? [];
    expect(top).toMatchObject({ label: 'work', icon: 'folder' });
    replay({ 'snapshots show': playing('snapshots-show-docs') });
    const inside = (await top?.children?.()) ?? [];
    expect(inside[0]).toMatchObject({ label: 'reference', icon: 'folder' });
    expect(inside.at(-1)).toMatchObject({
      label: 'minicluster.md',
      kind: 'file',
      ref: { snapshot: 'a', path: 'work/docs/minicluster.md' },
    });
    expect(calls().at(-1)?.argv).toEqual(['snapshots', 'show', 'a', 'work', '--json']);
  });
});

test('the view Nodes says what is free and which are warm', () => {
  const rows = nodeRows([
    node('a', { warm: 'x' }),
    node('b', { available: false, state: 'down', reason: 'disk' }),
  ]);
  expect(rows[0]).toMatchObject({ description: 'warm · 16/16 CPUs free', icon: 'flame' });
  expect(rows[1]).toMatchObject({ tint: 'bad' });
  expect(rows[1]?.tooltip).toContain('disk');
});

describe('a listing', () => {
  test('asks once for all who look, until it is out of date', async () => {
    let asked = 0;
    const listing = new Listing(() => Promise.resolve(++asked));
    expect([await listing.get(), await listing.get()]).toEqual([1, 1]);
    listing.forget();
    expect(await listing.get()).toBe(2);
  });

  test('asks again after a failure, which a row tells of', async () => {
    let asked = 0;
    const listing = new Listing(() =>
      ++asked === 1 ? Promise.reject(new Error('x')) : Promise.resolve('ok'),
    );
    const row = await listing.get().catch(problemRow);
    expect(row).toMatchObject({ icon: 'warning', command: 'scratchflow.refresh' });
    expect(await listing.get()).toBe('ok');
  });
});
