import { expect, test, vi } from 'vitest';
import { Output } from '../../src/cli/output';
import { fakeCli, type Play } from '../fakeCli';

function start(play: Play) {
  const fake = fakeCli(play);
  let text = '';
  const output = new Output(fake.file, ['logs', '--follow', '41'], (more) => (text += more));
  return { ...fake, output, text: () => text };
}

test('passes on what the job prints, and says how it ended', async () => {
  const steps = [{ raw: 'epoch 1 é\n' }, { stderr: 'a warning\n' }, { sleepMs: 50 }, { exit: 3 }];
  const { output, text } = start({ logs: { steps } });
  expect(await output.ended).toBe('exit code 3');
  expect(text()).toContain('epoch 1 é\n');
  expect(text()).toContain('a warning\n');
});

test('stopping it is Ctrl-C', async () => {
  const { output, text, calls } = start({ logs: { steps: [{ raw: 'begun\n' }, { hang: true }] } });
  await vi.waitFor(() => expect(text()).toBe('begun\n'));
  output.stop();
  output.stop();
  expect(await output.ended).toBe('exit code 130');
  expect(calls().filter(({ signal }) => signal === 'SIGINT')).toHaveLength(1);
  output.stop();
});

test('a program that is not there is said', async () => {
  const output = new Output('/does/not/exist', [], () => undefined);
  expect(await output.ended).toContain('ENOENT');
});

test('it gets none of the editor’s own variables', async () => {
  vi.stubEnv('ELECTRON_RUN_AS_NODE', '1');
  const { output, calls } = start({ logs: { steps: [{ exit: 0 }] } });
  await output.ended;
  vi.unstubAllEnvs();
  expect(calls()[0]?.env).not.toContain('ELECTRON_RUN_AS_NODE');
});
