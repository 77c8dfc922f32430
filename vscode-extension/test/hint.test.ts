import { expect, test } from 'vitest';
import { actionOf, withTitles } from '../src/hint';

test('a bare verb in a hint becomes its command', () => {
  expect(actionOf('run `scratchflow backup` first')).toEqual({
    kind: 'command',
    label: 'Run Backup',
    command: 'scratchflow.backup',
  });
});

test('to withdraw a request has a command of its own', () => {
  const hint = 'Job 7 stays in the queue; `scratchflow clear --pending` withdraws it.';
  expect(actionOf(hint)).toMatchObject({ kind: 'command', command: 'scratchflow.withdraw' });
});

test('what stands for something does not count', () => {
  const hint = '`scratchflow setup LOGIN` adds a cluster; `--profile` chooses another';
  expect(actionOf(hint)).toMatchObject({ kind: 'command', command: 'scratchflow.setup' });
  expect(actionOf('`scratchflow snapshots list` shows them all')).toMatchObject({
    command: 'scratchflow.snapshots',
  });
});

test('more than that is typed into a terminal, for the user to look at', () => {
  expect(actionOf('try `scratchflow backup --allow-shrink`')).toEqual({
    kind: 'terminal',
    label: 'Open in Terminal',
    text: 'scratchflow backup --allow-shrink',
  });
});

test('a command of ssh is typed too', () => {
  expect(actionOf('`ssh -v login` shows more')).toMatchObject({
    kind: 'terminal',
    text: 'ssh -v login',
  });
});

test('a key to be loaded has a button, too', () => {
  expect(actionOf('run `ssh-add /home/ada/.ssh/id` in a terminal')).toMatchObject({
    kind: 'terminal',
    text: 'ssh-add /home/ada/.ssh/id',
  });
});

test.each(['', 'check `ls -l`', 'use `scratchflow restore a\rrm -rf x`', '`rm -rf x`'])(
  'no button for: %j',
  (hint) => expect(actionOf(hint)).toBeUndefined(),
);

test.each([
  [
    '`scratchflow restore` brings the last snapshot there; `scratchflow create` starts a new one',
    'Initialize Scratch Space brings the last snapshot there; Create Workspace starts a new one',
  ],
  ['`scratchflow clear --pending` withdraws it', 'Withdraw Request withdraws it'],
  // No command does just that, or not here.
  ...[
    '`scratchflow jobs show 16` tells how',
    'run `scratchflow up` in a terminal',
    '`ssh login`',
  ].map((same) => [same, same]),
])('%j is told as %j', (hint, told) => {
  expect(withTitles(hint, '')).toBe(told);
});

test('command lines that stay have the profile of the window', () => {
  const hint = '`scratchflow config set store PATH` takes another; `scratchflow up` takes a node';
  const told =
    '`scratchflow --profile far config set store PATH` takes another; Start Working takes a node';
  expect(withTitles(hint, '--profile far')).toBe(told);
  const named = '`scratchflow -p other snapshots prune` makes room';
  expect(withTitles(named, '--profile far')).toBe(named);
});
