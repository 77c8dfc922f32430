import { expect, test } from 'vitest';
import { entryName, inSnapshot, SnapshotFiles, uriPath } from '../../src/cli/snapshotFiles';
import { answering, failure, fakeCli, playing } from '../fakeCli';

const ID = '20261115T060554Z-2f01f2';
const snapshot = { profile: 'lab', id: ID };
const FILE = { kind: 'file', mode: '0644', size: 3, mtime: '2026-11-15T06:00:00Z' } as const;

test('a path names profile, snapshot and what lies in it', () => {
  const where = { snapshot, path: 'work/a b?#.py' };
  expect(uriPath(where)).toBe(`/lab/${ID}/work/a b?#.py`);
  expect(inSnapshot(uriPath(where))).toEqual(where);
  expect(inSnapshot(`/lab/${ID}`)).toEqual({ snapshot, path: '' });
  expect(inSnapshot('/lab')).toBeUndefined();
});

test('a directory is asked for once, of the profile that the path names', async () => {
  const fake = fakeCli({ 'snapshots show': playing('snapshots-show-docs') });
  const files = new SnapshotFiles(fake.cli);
  const where = { snapshot, path: 'work/docs' };
  const listed = await files.list(where);
  expect(await files.list(where)).toBe(listed);
  const name = entryName(listed[0] ?? { ...FILE });
  const found = await files.entry({ snapshot, path: `work/docs/${name}` });
  expect(found).toBe(listed[0]);
  expect(await files.entry({ snapshot, path: 'work/docs/none' })).toBeUndefined();
  const argvs = fake.calls().map(({ argv }) => argv?.join(' '));
  expect(argvs).toEqual([`snapshots show ${ID} work/docs --profile lab --json`]);
});

test('a failure is not remembered', async () => {
  const fake = fakeCli({
    'snapshots show': { steps: [{ hello: true }, failure('snapshot.missing', 'none')] },
  });
  const files = new SnapshotFiles(fake.cli);
  await expect(files.list({ snapshot, path: '' })).rejects.toThrow();
  await expect(files.list({ snapshot, path: '' })).rejects.toThrow();
  expect(fake.calls()).toHaveLength(2);
});

test('content comes byte for byte', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
  const content_b64 = Buffer.from(bytes).toString('base64');
  const fake = fakeCli({
    'snapshots cat': answering({ snapshot: ID, size: 256, mode: '0644', mtime: '', content_b64 }),
  });
  const read = await new SnapshotFiles(fake.cli).read({ snapshot, path: 'work/a' });
  expect([...read]).toEqual([...bytes]);
});

test('a name that is not UTF-8 is what the CLI takes for it', () => {
  expect(entryName({ ...FILE, path_b64: 'd29yay/p', typed: 'work/caf?' })).toBe('caf?');
});
