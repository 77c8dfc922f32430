import { expect, test } from 'vitest';
import { guarded, type Context } from '../../src/flows/context';
import { login } from '../../src/flows/login';
import { namesFor } from '../../src/flows/menu';
import { next } from '../../src/state/state';
import { statusBar } from '../../src/views/statusBar';
import { failure } from '../fakeCli';
import { NOW, seeing, WITH_NODE } from '../pictures';
import { lab } from './lab';

const hint = 'run `scratchflow status` in a terminal, then try again';
const problem = { code: 'auth.needed', message: 'it wants you to log in', hint, retryable: true };
const REFUSED = { steps: [{ hello: true }, failure('auth.needed', 'Log in', hint, true)] };

test('an error that asks for a login leads to one, and hands on what it interrupted', async () => {
  const { context, editor } = lab({ nodes: REFUSED }, { 'Log in': 'Log In' });
  const executed: unknown[][] = [];
  editor.execute = (...args: unknown[]) => Promise.resolve(void executed.push(args));
  let times = 0;
  const ask = async ({ cli }: Context) => {
    times += 1;
    if (times === 1) await cli.run('nodes');
  };
  await guarded(context, ask)();
  expect(editor.seen[0]).toMatch(/ \| Log In \| Show Log$/);
  const [command, again] = executed[0] ?? [];
  expect(command).toBe('scratchflow.login');
  await (again as () => Promise<void>)();
  expect(times).toBe(2);
});

test('Log In runs the CLI in a terminal; then the watch resumes and the command is offered again', async () => {
  const { context, editor } = lab({}, { 'You are logged in': 'Try Again' });
  editor.exitCodes = [0];
  await login(context, () => Promise.resolve(void editor.seen.push('again')));
  expect(editor.seen).toEqual([
    'terminal: scratchflow: log in: status --profile aws',
    'reconnect',
    'info: You are logged in. | Try Again',
    'again',
  ]);
});

test.each([12, undefined])('a login that ended with %s is not one', async (code) => {
  const { context, editor } = lab({});
  editor.exitCodes = [code];
  await login(context);
  expect(editor.seen.slice(1)).toEqual(['warning: You are not logged in. | Log In']);
});

test('a watch that needs a login says so in the status bar, and its menu begins with that', () => {
  const link = { is: 'stopped', problem } as const;
  const picture = next(seeing(WITH_NODE), { type: 'link', link });
  expect(statusBar(picture, NOW).text).toBe('$(key) scratchflow: log in');
  expect(namesFor(picture)[0]).toBe('login');
});
