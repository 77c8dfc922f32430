import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { FileVersion } from '../../src/cli/protocol';
import { fileHistory } from '../../src/flows/history';
import { moment } from '../../src/format/words';
import { answering, playing } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const [FIRST, SECOND, GONE] = [
  '20261113T060554Z-2f01f2',
  '20261114T060555Z-c46201',
  '20261114T070555Z-aaaaaa',
];
const version = (snapshot: string, time: string, more: Partial<FileVersion>): FileVersion => ({
  ...{ snapshot, last: snapshot, time, change: 'changed', kind: 'file', size: 3, mode: '0644' },
  ...more,
});
const TIMES = ['2026-11-13T06:05:54Z', '2026-11-14T06:05:55Z', '2026-11-14T07:05:55Z'] as const;
const HISTORY = answering({
  versions: [
    version(FIRST, TIMES[0], { change: 'added' }),
    version(SECOND, TIMES[1], { mode: '0755', mode_before: '0644', fork: true }),
    { snapshot: GONE, last: GONE, time: TIMES[2], change: 'deleted' },
  ],
  checked: 3,
  path: 'work/src/a.py',
});
const PICK = 'Versions of work/src/a.py';
const DO = 'a.py: what to do';
const label = (time: string) => moment(time, Date.now());

test('the versions of the current file, newest first, each with the id of its snapshot', async () => {
  const { context, editor, argvs } = lab({ 'snapshots history': HISTORY }, {}, WITH_NODE);
  editor.file = '/scratch/alice/work/src/a.py';
  await fileHistory(context);
  expect(argvs()).toEqual(['snapshots history work/src/a.py']);
  expect(editor.picked.map(({ description }) => description)).toEqual([
    `deleted · ${GONE}`,
    `3 B · mode 0644 → 0755 · fork · ${SECOND}`,
    `added · 3 B · ${FIRST}`,
  ]);
});

test.each([
  ['link/src/a.py', 'work/src/a.py'],
  ['link/gone/b.py', 'work/gone/b.py'],
  // A link of the workspace is a file of it, and has versions of its own.
  ['link/src/latest', 'work/src/latest'],
  ['work/src/latest', 'work/src/latest'],
  ['other/a.py', undefined],
])('a workspace that is open through a link: %s', async (opened, asked) => {
  const directory = mkdtempSync(join(tmpdir(), 'linked-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'work/src'), { recursive: true });
  mkdirSync(join(directory, 'other'));
  symlinkSync('work', join(directory, 'link'));
  symlinkSync('a.py', join(directory, 'work/src/latest'));
  const workspace = { ...WITH_NODE.workspace, path: join(directory, 'work') };
  const here = { ...WITH_NODE, alias: null, allocation: null, workspace };
  const { context, argvs } = lab({ 'snapshots history': HISTORY }, {}, here);
  const file = join(directory, opened);
  await fileHistory(context, file);
  expect(argvs()).toEqual([`snapshots history ${asked ?? file}`]);
});

test('a path of the node is not looked for on this machine', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'linked-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  symlinkSync('work', join(directory, 'link'));
  const workspace = { ...WITH_NODE.workspace, path: join(directory, 'work') };
  const { context, argvs } = lab({ 'snapshots history': HISTORY }, {}, { ...WITH_NODE, workspace });
  mkdirSync(workspace.path);
  await fileHistory(context, join(directory, 'link/a.py'));
  expect(argvs()).toEqual([`snapshots history ${directory}/link/a.py`]);
});

test.each([
  ['Open This Version', `open: /aws/${FIRST}/work/src/a.py`],
  [
    'Compare with Workspace',
    `compare: snapshot:/aws/${FIRST}/work/src/a.py /scratch/alice/work/src/a.py compile_machine: a.py`,
  ],
])('a version: %s', async (action, seen) => {
  const answers = { [PICK]: label(TIMES[0]), [DO]: action };
  const { context, editor } = lab({ 'snapshots history': HISTORY }, answers, WITH_NODE);
  await fileHistory(context, '/elsewhere/a.py');
  expect(editor.seen.at(-1)).toContain(seen);
});

test('any two versions are compared without the node, the older one on the left', async () => {
  const answers = { [PICK]: label(TIMES[1]), [DO]: 'Compare with Another Version…' };
  const { context, editor } = lab({ 'snapshots history': HISTORY }, answers, WITH_NODE);
  editor.connected = false;
  const pick = editor.pick.bind(editor);
  editor.pick = (choices, options) => {
    const done = pick(choices, options);
    if (options.title.startsWith(DO)) editor.answers[PICK] = label(TIMES[0]);
    return done;
  };
  await fileHistory(context, '/x/a.py');
  expect(editor.seen.at(-1)).toContain(
    `compare: snapshot:/aws/${FIRST}/work/src/a.py snapshot:/aws/${SECOND}/work/src/a.py here`,
  );
});

test('a version is restored through the CLI, after a yes', async () => {
  const answers = {
    ...{ [PICK]: label(TIMES[0]), [DO]: 'Restore This Version…' },
    'Bring work/src/a.py back': true,
  };
  const play = { 'snapshots history': HISTORY, restore: playing('restore-file') };
  const { context, argvs } = lab(play, answers, WITH_NODE);
  await fileHistory(context, '/x/a.py');
  expect(argvs().at(-1)).toBe(`restore ${FIRST} --path work/src/a.py`);
});

test('of a deleted file there is nothing to be done, and without a file nothing is asked', async () => {
  const answers = { [PICK]: label(TIMES[2]) };
  const { context, editor, argvs } = lab({ 'snapshots history': HISTORY }, answers, WITH_NODE);
  await fileHistory(context, '/x/a.py');
  expect(editor.seen.at(-1)).toContain(`pick: ${PICK}`);
  await fileHistory(context);
  expect(editor.seen.at(-1)).toContain('Open a file of the workspace first');
  expect(argvs()).toHaveLength(1);
});
