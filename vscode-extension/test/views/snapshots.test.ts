import { describe, expect, test } from 'vitest';
import type { SnapshotRow } from '../../src/cli/protocol';
import { snapshotRows } from '../../src/views/snapshots';
import { fakeCli, playing } from '../fakeCli';
import { NOW } from '../pictures';

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

  test('has the newest first, with message, size and node', () => {
    const { cli } = fakeCli({});
    const rows = snapshotRows(
      cli,
      [row, { ...row, id: 'b', kind: 'incremental', message: '' }],
      NOW,
    );
    expect(rows.map(({ ref }) => ref)).toEqual([{ id: 'b' }, { id: 'a' }]);
    expect(rows[1]?.description).toBe('before lunch · 1.0 KiB · node-1');
    expect(rows[0]?.description).toBe('+1.0 KiB · node-1');
    expect(rows[0]?.tooltip).toMatch(/^Snapshot b\n/);
  });

  test('shows messages and marks as the CLI lists them, the marks first', () => {
    const { cli } = fakeCli({});
    const listed = {
      message: 'before restoring 20261117T170519Z-5ec95c',
      ...{ shown_message: 'before restoring 5ec95c', marks: ['kept', 'fork'] },
    };
    const [shown] = snapshotRows(cli, [{ ...row, ...listed }], NOW);
    expect(shown?.description).toBe('[kept, fork] · before restoring 5ec95c · 1.0 KiB · node-1');
  });

  test('tells two of one minute apart', () => {
    const { cli } = fakeCli({});
    const rows = snapshotRows(cli, [row, { ...row, time: '2026-11-15T11:40:20Z' }], NOW);
    expect(rows.map(({ label }) => label.slice(-3))).toEqual([':20', ':00']);
  });

  test('marks a damaged one and offers no restore for it', () => {
    const { cli } = fakeCli({});
    const rows = snapshotRows(cli, [{ ...row, damaged: 'cut short' }], NOW);
    expect(rows[0]).toMatchObject({ kind: 'damaged', tint: 'bad' });
  });

  test('says of one that may be damaged what it reads, and offers it all the same', () => {
    const { cli } = fakeCli({});
    const [shown] = snapshotRows(cli, [{ ...row, perhaps_damaged: 'it needs b' }], NOW);
    expect(shown).toMatchObject({ kind: 'snapshot', icon: 'warning', tint: 'warning' });
    expect(shown?.tooltip).toContain('may be damaged: it needs b');
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
      file: 'minicluster.md',
      kind: 'file',
      ref: { snapshot: 'a', path: 'work/docs/minicluster.md' },
      command: 'scratchflow.file.open',
    });
    expect(calls().at(-1)?.argv).toEqual(['snapshots', 'show', 'a', 'work', '--json']);
  });
});
