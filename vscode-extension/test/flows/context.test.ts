import { expect, test } from 'vitest';
import { guarded, tellProblem, type Context } from '../../src/flows/context';
import { cancelled, missing } from '../../src/cli/problem';
import { playing } from '../fakeCli';
import { lab } from './lab';

async function askForNodes({ cli }: Context): Promise<void> {
  await cli.run('nodes');
}

test('an error shows message and hint, the hint’s command and the log', async () => {
  const { context, editor } = lab({ nodes: playing('refused') });
  await guarded(context, askForNodes)();
  expect(editor.seen).toEqual([
    'error: Profile "local" has no cluster: its scheduler is "none". ' +
      'Set Up Cluster adds a cluster; `--profile` chooses another. | Set Up Cluster | Show Log',
  ]);
});

test.each([
  ['Set Up Cluster', 'command: scratchflow.setup'],
  ['Show Log', 'log'],
])('the button %s does it', async (button, done) => {
  const { context, editor } = lab({ nodes: playing('refused') }, { Profile: button });
  await guarded(context, askForNodes)();
  expect(editor.seen.at(-1)).toBe(done);
});

test('a missing CLI can be installed from the message', async () => {
  const { context, editor } = lab({}, { 'The scratchflow command line': 'Install scratchflow' });
  await tellProblem(context, missing());
  expect(editor.seen.at(-1)).toBe('command: scratchflow.install');
});

test('a wrong value of a setting is told by the name of the setting, which a button opens', async () => {
  const { context, editor } = lab({}, { 'The setting': 'Open Setting' });
  editor.settings.set('slurm.mem', 'lots');
  const message = '`slurm.mem` (--set): must be a size like `32G`';
  const hint = 'give `--set` another value';
  await tellProblem(context, { code: 'config.bad_value', message, hint, retryable: false });
  expect(editor.seen).toEqual([
    'error: The setting `scratchflow.slurm.mem` (lots): must be a size like `32G`. ' +
      'Give the setting another value. | Open Setting | Show Log',
    'command: workbench.action.openSettings scratchflow.slurm.mem',
  ]);
});

test('a bug of our own is reported too, and cancelling is not', async () => {
  const { context, editor } = lab({});
  await guarded(context, () => Promise.reject(new Error('boom')))();
  expect(editor.seen[0]).toContain('The extension failed: boom.');
  editor.seen.length = 0;
  await tellProblem(context, cancelled());
  expect(editor.seen).toEqual([]);
});

test('a hint’s longer command is typed into a terminal with the path of our program and the profile', async () => {
  const { context, editor } = lab({}, { 'Too small': 'Open in Terminal' });
  const hint = '`scratchflow backup --allow-shrink` goes on';
  await tellProblem(context, { code: 'x', message: 'too small', hint, retryable: false });
  expect(editor.seen.at(-1)).toBe('typed: /bin/scratchflow --profile aws backup --allow-shrink');
});
