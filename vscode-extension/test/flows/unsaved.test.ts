import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { restoreFile, restoreSnapshot } from '../../src/flows/snapshots';
import { restore } from '../../src/flows/workspace';
import { answering, playing } from '../fakeCli';
import { WITH_NODE } from '../pictures';
import { lab } from './lab';

const ID = '20261115T060554Z-2f01f2';
const FILE = { snapshot: ID, path: 'work/src/main.py' };
const MAIN = { host: 'compile_machine', path: '/scratch/alice/work/src/main.py' };
const OTHER = { host: 'compile_machine', path: '/scratch/alice/work/notes.md' };
const ELSEWHERE = { host: undefined, path: '/scratch/alice/work/src/main.py' };
const PLAY = { restore: playing('restore-file'), autobackup: answering({ enabled: true }) };

function windowWith(unsaved: (typeof MAIN | typeof ELSEWHERE)[], answer: string | true) {
  const made = lab(PLAY, { 'Bring ': answer }, WITH_NODE);
  made.editor.notSaved = unsaved;
  return made;
}

test('a file with unsaved changes is saved before it is restored', async () => {
  const { context, editor, argvs } = windowWith([MAIN, OTHER], 'Save and Restore');
  await restoreFile(context, FILE);
  expect(editor.seen[0]).toContain('| Save and Restore | Restore without Saving');
  expect(editor.details[0]).toMatch(/^main\.py has unsaved changes\. /);
  expect(editor.seen[1]).toBe(`save: ${MAIN.path}`);
  expect(argvs()).toEqual([`restore ${ID} --path ${FILE.path}`]);
  expect(editor.seen.some((line) => line.startsWith('reload'))).toBe(false);
});

test('without saving, its editor shows the restored file before that is told', async () => {
  const { context, editor } = windowWith([MAIN], 'Restore without Saving');
  await restoreFile(context, FILE);
  expect(editor.seen.slice(-2)).toEqual([
    `reload: ${MAIN.path}`,
    'info: work/src/main.py is back as it was.',
  ]);
});

test('Cancel, and a file that cannot be saved, leave everything as it is', async () => {
  const cancelled = windowWith([MAIN], true);
  await restoreFile(cancelled.context, FILE);
  expect(cancelled.argvs()).toEqual([]);
  const unwritable = windowWith([MAIN], 'Save and Restore');
  unwritable.editor.canSave = false;
  await restoreFile(unwritable.context, FILE);
  expect(unwritable.argvs()).toEqual([]);
  expect(unwritable.editor.seen.at(-1)).toContain('error: Nothing was restored');
});

test('files that it does not touch are not asked about', async () => {
  const { context, editor, argvs } = windowWith([OTHER, ELSEWHERE], true);
  await restoreFile(context, FILE);
  expect(editor.seen[0]).toMatch(/^confirm: /);
  expect(argvs()).toHaveLength(1);
});

test('a whole snapshot asks about all unsaved files of the workspace, also without another question', async () => {
  const whole = windowWith([MAIN, OTHER, ELSEWHERE], 'Restore without Saving');
  await restoreSnapshot(whole.context, { id: ID });
  expect(whole.editor.details[0]).toMatch(/^main\.py, notes\.md have unsaved changes\. /);
  expect(whole.editor.seen).toContain(`reload: ${MAIN.path} ${OTHER.path}`);
  const latest = windowWith([MAIN], true);
  await restore(latest.context);
  expect(latest.argvs()).toEqual([]);
  expect(latest.editor.seen[0]).toContain('choose: Bring the workspace back to the latest');
});

test('an editor that could not be loaded anew is named: to save it would undo the restore', async () => {
  const { context, editor } = windowWith([MAIN], 'Restore without Saving');
  editor.notReloaded = [MAIN];
  await restoreFile(context, FILE);
  expect(editor.seen.slice(-2)).toEqual([
    expect.stringMatching(/^warning: main\.py has unsaved changes still: /),
    'info: work/src/main.py is back as it was.',
  ]);
});

test('where the workspace is, is asked before the watch has said it', async () => {
  const { context, editor, argvs } = lab({ ...PLAY, status: answering(WITH_NODE) }, {});
  editor.notSaved = [MAIN];
  await restore(context);
  expect(editor.details[0]).toMatch(/^main\.py has unsaved changes\. /);
  expect(argvs()).toEqual(['status']);
});

test('a folder that is open through a link is the workspace, too', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'linked-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'work/a.txt'), '');
  symlinkSync('work', join(directory, 'link'));
  const workspace = { ...WITH_NODE.workspace, path: join(directory, 'work') };
  const here = { ...WITH_NODE, alias: null, allocation: null, workspace };
  const { context, editor } = lab(PLAY, { 'Bring ': 'Save and Restore' }, here);
  const linked = { host: undefined, path: join(directory, 'link/a.txt') };
  editor.notSaved = [linked, { host: undefined, path: join(directory, 'other.txt') }];
  await restoreSnapshot(context, { id: ID });
  expect(editor.seen).toContain(`save: ${linked.path}`);
});

test('without unsaved files nothing is asked for that', async () => {
  const { context, argvs } = lab(PLAY);
  await restore(context);
  expect(argvs()[0]).toBe('restore');
});
