import { expect, test } from 'vitest';
import * as flows from '../../src/flows/snapshots';
import { answering, playing } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { snapshotName } from '../../src/format/words';
import { lab } from './lab';

const ID = '20261115T060554Z-2f01f2';
const inSnapshot = (id: string) => `snapshot:/aws/${id}/work/docs/format.md`;
const FILE = { snapshot: ID, path: 'work/docs/format.md' };

test('restoring a snapshot asks first', async () => {
  const play = { restore: playing('restore') };
  const asked = lab(play);
  await flows.restoreSnapshot(asked.context, { id: ID });
  expect(asked.argvs()).toEqual([]);
  const sure = lab(play, { 'Bring the workspace back': true });
  await flows.restoreSnapshot(sure.context, { id: ID });
  expect(sure.argvs()).toEqual([`restore ${ID}`]);
});

test('verifying says that all is well, or what is not', async () => {
  const good = lab({ 'snapshots verify': playing('snapshots-verify') });
  await flows.verifySnapshot(good.context, { id: ID });
  expect(good.editor.seen.at(-1)).toContain('the snapshot is good');
  const bad = lab({
    'snapshots verify': answering({ checked: 1, bad: [{ id: ID, reason: 'cut short' }] }),
  });
  await flows.verifySnapshot(bad.context, { id: ID });
  expect(bad.editor.seen.at(-1)).toBe(`error: Damaged. ${ID}: cut short`);
  const newer = lab({
    'snapshots verify': answering({ checked: 0, bad: [], newer: [{ id: ID, reason: 'too new' }] }),
  });
  await flows.verifySnapshot(newer.context, { id: ID });
  expect(newer.editor.seen.at(-1)).toBe('error: Not checked. too new');
});

test('a diff lists what changed; a changed file is shown in both versions', async () => {
  const play = { 'snapshots diff': playing('snapshots-diff') };
  const { context, editor, argvs } = lab(
    play,
    { '1 path changed': '~ work/docs/format.md' },
    WITH_NODE,
  );
  editor.connected = false;
  await flows.diffSnapshot(context, { id: ID });
  expect(editor.picked.map(({ label }) => label)).toEqual([
    '~ work/docs/format.md',
    '− work/docs/minicluster.md',
  ]);
  expect(argvs()[0]).toMatch(`snapshots diff ${ID} latest`);
  expect(argvs()).toHaveLength(1);
  expect(editor.seen.at(-1)).toContain(
    `compare: ${inSnapshot(ID)} ${inSnapshot('20261115T060555Z-c46201')} here: format.md`,
  );
});

test('what changed is compared with the workspace where its files can be shown', async () => {
  const diff = { added: 0, removed: 0, changed: 1 };
  const paths = [{ action: 'changed', path: FILE.path }];
  const play = { 'snapshots diff': answering({ older: ID, newer: 'workspace', ...diff, paths }) };
  const answers = { '1 path changed': `~ ${FILE.path}` };
  const { context, editor, argvs } = lab(play, answers, WITH_NODE);
  await flows.diffSnapshot(context, { id: ID });
  expect(argvs()).toEqual([`snapshots diff ${ID}`]);
  expect(editor.seen.at(-1)).toContain(
    `compare: ${inSnapshot(ID)} /scratch/alice/work/docs/format.md compile_machine`,
  );
});

test('the latest snapshot is compared with the workspace, never with itself', async () => {
  const none = { added: 0, removed: 0, changed: 0, paths: [] };
  const latest = WITH_NODE.snapshots.last_id ?? '';
  const play = { 'snapshots diff': answering({ older: latest, newer: 'workspace', ...none }) };
  const { context, editor, argvs } = lab(play, {}, WITH_NODE);
  editor.connected = false;
  await flows.diffSnapshot(context, { id: latest });
  expect(argvs()).toEqual([`snapshots diff ${latest}`]);
  expect(editor.seen.at(-1)).toBe('info: Nothing differs between this snapshot and the workspace.');
});

test('a file is compared with the one in the workspace, over the alias', async () => {
  const { context, editor } = lab({}, {}, WITH_NODE);
  await flows.compareFile(context, FILE);
  expect(editor.seen.at(-1)).toBe(
    `compare: ${inSnapshot(ID)} /scratch/alice/work/docs/format.md compile_machine: format.md: ${snapshotName(ID, Date.now())} ↔ now`,
  );
});

test('a snapshot is browsed, and a file of it opened, in place', async () => {
  const { context, editor, argvs } = lab({}, {}, WITH_NODE);
  await flows.browseSnapshot(context, { id: ID });
  await flows.openFile(context, FILE);
  expect(editor.seen).toEqual([`browse: /aws/${ID}`, `open: /aws/${ID}/work/docs/format.md`]);
  expect(argvs()).toEqual([]);
});

test('in a window that is not the node’s, comparing leads to one that is', async () => {
  const answers = { 'The files are on the node': 'Open Workspace' };
  const { context, editor, argvs } = lab({}, answers, WITH_NODE);
  editor.connected = false;
  await flows.compareFile(context, FILE);
  expect(editor.seen.at(-1)).toBe('command: scratchflow.open');
  expect(argvs()).toEqual([]);
});

test('one file comes back after a yes, also when its name looks like a pattern', async () => {
  const { context, argvs } = lab(
    { restore: playing('restore-file') },
    { 'Bring work/[a].txt': true },
  );
  await flows.restoreFile(context, { snapshot: ID, path: 'work/[a].txt' });
  expect(argvs()).toEqual([`restore ${ID} --path work/[[]a].txt`]);
});
