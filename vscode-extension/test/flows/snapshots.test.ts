import { expect, test } from 'vitest';
import * as flows from '../../src/flows/snapshots';
import { answering, failure, playing } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { snapshotName } from '../../src/format/words';
import { lab } from './lab';

const ID = '20261115T060554Z-2f01f2';
const placeOf = (id: string) => `/scratch/alice/.scratchflow-compare/${id}-baa5faf5f5f9`;
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
});

test('a diff lists what changed; a changed file is shown in both versions', async () => {
  const play = { 'snapshots diff': playing('snapshots-diff'), restore: playing('restore-file') };
  const { context, editor, argvs } = lab(
    play,
    { '1 path changed': '~ work/docs/format.md' },
    WITH_NODE,
  );
  await flows.diffSnapshot(context, { id: ID });
  expect(editor.picked.map(({ label }) => label)).toEqual([
    '~ work/docs/format.md',
    '− work/docs/minicluster.md',
  ]);
  expect(argvs()[0]).toMatch(`snapshots diff ${ID} latest`);
  expect(argvs()[1]).toMatch(
    new RegExp(
      `^restore ${ID} --path work/docs/format.md --to /scratch/alice/.scratchflow-compare/${ID}-`,
    ),
  );
  expect(editor.seen.at(-1)).toContain(
    `compare: history:${placeOf(ID)}/docs/format.md history:${placeOf('20261115T060555Z-c46201')}/docs/format.md compile_machine: format.md`,
  );
});

test('a file is compared with the one in the workspace, over the alias', async () => {
  const { context, editor } = lab({ restore: playing('restore-file') }, {}, WITH_NODE);
  await flows.compareFile(context, FILE);
  expect(editor.seen.at(-1)).toBe(
    `compare: history:${placeOf(ID)}/docs/format.md /scratch/alice/work/docs/format.md compile_machine: format.md: ${snapshotName(ID, Date.now())} ↔ now`,
  );
});

test('a copy that was fetched before and changed since is not taken for the snapshot', async () => {
  const there = { steps: [{ hello: true }, failure('restore.target_differs', 'others there')] };
  const { context, editor, argvs, replay } = lab({ restore: there }, {}, WITH_NODE);
  const progress = editor.withProgress.bind(editor);
  editor.withProgress = (title, task) =>
    progress(title, async (given) => {
      try {
        return await task(given);
      } finally {
        replay({ restore: playing('restore-file') });
      }
    });
  await flows.compareFile(context, FILE);
  expect(argvs()).toHaveLength(2);
  expect(argvs()[1]).toMatch(new RegExp(`--to ${placeOf(ID)}-\\d+$`));
  expect(editor.seen.at(-1)).toMatch(new RegExp(`^compare: history:${placeOf(ID)}-\\d+/docs`));
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
