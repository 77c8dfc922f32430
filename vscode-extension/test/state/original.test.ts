import { expect, test } from 'vitest';
import { hasWorkspace, originalOf } from '../../src/state/original';
import { UNKNOWN } from '../../src/state/state';
import { NO_NODE, seeing, WITH_NODE } from '../pictures';

const HOST = 'compile_machine';
const there = (path: string) => ({ host: HOST, path });
const id = '20261115T114000Z-aaaaaa';

test('a file of the workspace is looked up in the last snapshot', () => {
  expect(originalOf(seeing(WITH_NODE), there('/scratch/alice/work/src/..a.py'))).toEqual({
    snapshot: { profile: 'aws', id },
    path: 'work/src/..a.py',
  });
});

test.each([
  ['outside of the workspace', there('/scratch/alice/workshop/a.py')],
  ['the workspace itself', there('/scratch/alice/work')],
  ['above it', there('/scratch/alice/a.py')],
  ['on this machine, under the same path', { host: undefined, path: '/scratch/alice/work/a.py' }],
  ['on another host', { host: 'elsewhere', path: '/scratch/alice/work/a.py' }],
])('there is nothing to compare with: %s', (_, place) => {
  expect(originalOf(seeing(WITH_NODE), place)).toBeUndefined();
});

test('without a cluster the workspace is on this machine', () => {
  const here = seeing({ ...NO_NODE, alias: null });
  const place = { host: undefined, path: '/scratch/alice/work/a.py' };
  expect(originalOf(here, place)?.path).toBe('work/a.py');
});

test('before the first snapshot, and before anything is known, there is nothing', () => {
  const snapshots = { ...WITH_NODE.snapshots, last_id: null };
  const place = there('/scratch/alice/work/a.py');
  expect(originalOf(seeing({ ...WITH_NODE, snapshots }), place)).toBeUndefined();
  expect(originalOf(UNKNOWN, place)).toBeUndefined();
});

test('a window has the workspace when its folder is it, lies in it or around it', () => {
  const has = (path: string, host: string | undefined = HOST) =>
    hasWorkspace(seeing(WITH_NODE), { host, path });
  expect(
    ['/scratch/alice/work', '/scratch/alice/work/src', '/scratch'].map((one) => has(one)),
  ).toEqual([true, true, true]);
  expect(has('/home/alice')).toBe(false);
  expect(has('/scratch/alice/work', 'elsewhere')).toBe(false);
  expect(hasWorkspace(UNKNOWN, there('/'))).toBe(false);
});
