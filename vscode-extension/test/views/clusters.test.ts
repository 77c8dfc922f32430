import { expect, test } from 'vitest';
import { clusterRows, syncRows } from '../../src/views/clusters';
import type { Row } from '../../src/views/row';
import { CONFLICT, EVERYWHERE, PAIR, RECALLED } from '../clusters';
import { NOW, WITH_NODE } from '../pictures';

const told = (rows: readonly Row[]) =>
  rows.map(({ label, description }) => `${label}: ${description}`);
const beneath = async (row: Row | undefined) => (await row?.children?.()) ?? [];

test('each profile says its node, the time left and the last backup, or why it is silent', () => {
  expect(told(clusterRows(EVERYWHERE, 'uni'))).toEqual([
    'uni: node-1 · 3 h left · backup 20 min ago · this window',
    'aws: no node · no backup yet',
    'lab: waiting for a node · backup 20 min ago',
    'desk: this machine · backup 20 min ago',
    'mila: profile `mila` did not answer within 26 s',
  ]);
});

test('only another cluster that answers can be moved to, and every other profile switched to', () => {
  expect(clusterRows(EVERYWHERE, 'uni').map(({ kind }) => kind)).toEqual([
    'cluster own',
    'cluster other',
    'cluster other',
    'here other',
    'silent other',
  ]);
});

test('what is wrong is told with what mends it', () => {
  const problem = { name: 'alias.stale', detail: 'the alias is stale', fix: '`scratchflow up`' };
  const profiles = [{ ...WITH_NODE, profile: 'uni', problems: [problem] }];
  const [row, silent] = clusterRows({ ...EVERYWHERE, profiles }, 'mila');
  expect(row).toMatchObject({ icon: 'warning', tint: 'warning' });
  expect(row?.tooltip).toContain('The alias is stale. `scratchflow up`');
  expect(silent?.tooltip).toContain(
    'mila (login.mila): Profile `mila` did not answer within 26 s.',
  );
  expect(silent?.description).toMatch(/ · this window$/);
});

test('the last sync is a row, with its conflicts beneath in sight', async () => {
  const [row] = syncRows(RECALLED, NOW);
  expect(row).toMatchObject({
    label: 'uni ↔ aws',
    description: '1 conflict · synced 12 min ago',
    isOpen: true,
    kind: 'sync',
    ref: { profile: 'aws' },
  });
  expect(row?.tooltip).toContain('changes: 3 to aws, 1 to uni');
  const [conflict] = await beneath(row);
  expect(conflict).toMatchObject({
    label: 'notes/todo.md',
    description: 'changed on uni, deleted on aws',
    command: 'scratchflow.conflict.keep',
    ref: { first: 'uni', profile: 'aws', conflict: CONFLICT },
  });
});

test('very many conflicts are counted, and what else was not synced is told with its reason', async () => {
  const left = [{ path: 'p/pipe', reason: 'unknown file type' }];
  const [row] = syncRows({ ...RECALLED, pairs: [{ ...PAIR, conflict_count: 1501, left }] }, NOW);
  expect(row?.description).toBe('1,501 conflicts · 1 path not synced · synced 12 min ago');
  expect(told(await beneath(row)).slice(1)).toEqual([
    '1,500 more conflicts: undefined',
    'p/pipe: not synced: unknown file type',
  ]);
});

test('homes that are equal, or were never synced, have nothing beneath', () => {
  const clean = { ...PAIR, condition: 'clean' as const, conflicts: [], conflict_count: 0 };
  const rows = syncRows({ ...RECALLED, pairs: [clean, { profile: 'mila' }] }, NOW);
  expect(told(rows)).toEqual([
    'uni ↔ aws: synced 12 min ago',
    'uni ↔ mila: not synced from here yet',
  ]);
  expect(rows.map(({ children, icon }) => [children, icon])).toEqual([
    [undefined, 'pass'],
    [undefined, 'sync-ignored'],
  ]);
});

test('homes that get a conflict are another row, which is opened', () => {
  const clean = { ...PAIR, conflicts: [], conflict_count: 0 };
  const [before] = syncRows({ ...RECALLED, pairs: [clean] }, NOW);
  const [after] = syncRows(RECALLED, NOW);
  expect(before?.id).not.toBe(after?.id);
});

test('names cannot become links or icons', async () => {
  const conflict = { ...CONFLICT, path: 'a$(alert)](command:x)' };
  const [row] = syncRows({ ...RECALLED, pairs: [{ ...PAIR, conflicts: [conflict] }] }, NOW);
  const [shown] = await beneath(row);
  expect(shown?.label).not.toMatch(/\$\(|\]\(/);
});
