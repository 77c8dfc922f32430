import { expect, test } from 'vitest';
import { keepOne, lookForConflicts, syncHomes } from '../../src/flows/sync';
import { answering, failure, summary, type Play } from '../fakeCli';
import { CONFLICT } from '../clusters';
import { lab } from './lab';

const synced = (...pairs: object[]) => ({ first: 'uni', folders: ['notes'], pairs });
const CLEAN: Play = { sync: answering(synced({ profile: 'aws', to_profile: 2 })) };
const CONFLICTS: Play = {
  sync: answering(synced({ profile: 'aws', conflicts: ['notes/todo.md'] })),
};
const REF = { first: 'uni', profile: 'aws', conflict: CONFLICT };
const KEEP = 'Keep Which One?';

test('all homes are synced, and the view is drawn anew', async () => {
  const { context, editor, argvs } = lab(CLEAN);
  await syncHomes(context);
  expect(argvs()).toEqual(['sync']);
  expect(editor.seen).toEqual([
    'progress: Syncing homes',
    'refresh sync',
    'info: 2 changes to aws, 0 changes to uni.',
  ]);
});

test('conflicts are told with a way to their list', async () => {
  const { context, editor, argvs } = lab(CONFLICTS, { '1 conflict.': 'Show Conflicts' });
  await syncHomes(context, { profile: 'aws' });
  expect(argvs()).toEqual(['sync aws']);
  expect(editor.seen.slice(-2)).toEqual([
    'warning: 1 conflict. Nothing to bring between uni and aws. | Show Conflicts',
    'command: scratchflow.clustersView.focus',
  ]);
});

test('looking for conflicts changes nothing', async () => {
  const { context, editor, argvs } = lab(CONFLICTS);
  await lookForConflicts(context);
  expect(argvs()).toEqual(['sync --dry-run']);
  expect(editor.seen.at(-1)).toBe('warning: 1 conflict. Nothing was changed. | Show Conflicts');
});

test('one conflict is decided for the side that the user picks', async () => {
  const { context, editor, argvs } = lab(CLEAN, { [KEEP]: 'Keep the One of aws' });
  await keepOne(context, REF);
  expect(editor.picked).toMatchObject([
    { label: 'Keep the One of uni', description: 'changed' },
    { label: 'Keep the One of aws', description: 'deleted' },
  ]);
  expect(argvs()).toEqual(['sync aws --path=notes/todo.md --prefer aws']);
  expect(editor.seen.slice(-2)).toEqual([
    'refresh sync',
    'info: Both homes have notes/todo.md as on aws now.',
  ]);
});

test('Escape decides nothing, and what is still a conflict is told', async () => {
  const { context, editor, argvs } = lab(CONFLICTS);
  await keepOne(context, REF);
  expect(argvs()).toEqual([]);
  editor.answers[KEEP] = 'Keep the One of uni';
  await keepOne(context, REF);
  expect(editor.seen.at(-1)).toContain('1 conflict.');
  expect(editor.seen.at(-1)).toContain('The homes do not have the same notes/todo.md yet');
});

test('a name that cannot be typed is asked about in a terminal', async () => {
  const { context, editor, argvs } = lab(CLEAN);
  await keepOne(context, { ...REF, conflict: { ...CONFLICT, has_plain_name: false } });
  expect(argvs()).toEqual([]);
  expect(editor.seen).toEqual(['typed: /bin/scratchflow sync --interactive']);
});

test('many deletions need a yes to the words of the CLI', async () => {
  const message = '`aws` would lose 40 of 50 files; nothing was changed';
  const refusal = failure('sync.many_deletions', message, 'look first');
  const { context, editor, argvs, replay } = lab({ sync: { steps: [{ hello: true }, refusal] } });
  await syncHomes(context);
  expect(editor.seen.at(-1)).toBe('confirm: `aws` would lose 40 of 50 files; nothing was changed.');
  expect(argvs()).toEqual(['sync']);
  const confirm = editor.confirm.bind(editor);
  editor.confirm = (question, detail) => {
    replay({
      sync: { steps: [{ hello: true }, summary(synced({ profile: 'aws', to_profile: 1 }))] },
    });
    void confirm(question, detail);
    return Promise.resolve(true);
  };
  await syncHomes(context);
  expect(argvs().at(-1)).toBe('sync --allow-deletions');
  expect(editor.seen.at(-1)).toBe('info: 1 change to aws, 0 changes to uni.');
});

test('another failure is thrown as it is, after the view was drawn anew', async () => {
  const refusal = failure('sync.busy', 'another sync works');
  const { context, editor } = lab({ sync: { steps: [{ hello: true }, refusal] } });
  await expect(syncHomes(context)).rejects.toThrow('another sync works');
  expect(editor.seen.at(-1)).toBe('refresh sync');
});
