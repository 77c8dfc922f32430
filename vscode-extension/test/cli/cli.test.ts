import { homedir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { commandLine } from '../../src/cli/cli';
import { problemOf } from '../../src/cli/problem';
import { answering, failure, fakeCli, playing, summary } from '../fakeCli';

const unhandled: unknown[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(reason));
afterEach(() => expect(unhandled).toEqual([]));

const problemFrom = (running: Promise<unknown>) => running.then(() => undefined, problemOf);

test('a window’s own profile is named, unless all of them are asked', async () => {
  const around = { globalArgs: () => ['--profile', 'aws'] };
  const { cli, calls } = fakeCli({ status: answering({}) }, around);
  await cli.run('status');
  await cli.run('status --all', { withoutProfile: true });
  expect(calls().map(({ argv }) => argv?.join(' '))).toEqual([
    'status --profile aws --json',
    'status --all --json',
  ]);
});

describe('a command', () => {
  test('gives its result and tells every event on the way', async () => {
    const { cli } = fakeCli({ backup: playing('backup') });
    const types: string[] = [];
    const { data } = await cli.run('backup', { onEvent: ({ type }) => types.push(type) });
    expect(data).toMatchObject({ kind: 'full', files: 196 });
    expect(types[0]).toBe('hello');
    expect(types.at(-1)).toBe('summary');
  });

  test('is started with an argument array, at home, without the editor’s environment', async () => {
    process.env.VSCODE_CANARY = 'x';
    const hostile = '$(touch canary); `x` "y" \'z\'';
    const { cli, calls } = fakeCli(
      { backup: playing('backup') },
      { globalArgs: () => ['-p', hostile] },
    );
    await cli.run('backup', { args: ['--message', hostile] });
    const [call] = calls();
    expect(call?.argv).toEqual(['backup', '--message', hostile, '-p', hostile, '--json']);
    expect(call?.cwd).toBe(homedir());
    expect(call?.env).not.toContain('VSCODE_CANARY');
  });

  test('is written to the log as a shell would take it', async () => {
    const { cli, log, file } = fakeCli({ backup: playing('backup') });
    await cli.run('backup', { args: ['-m', "it's"] });
    expect(log[0]).toBe(`$ ${file} backup -m 'it'\\''s' --json`);
    expect(log.at(-1)).toMatch(/ended after \d/);
    expect(commandLine(['a b', 'c=d'])).toBe("'a b' c=d");
  });

  test('that fails gives the CLI’s own message and hint', async () => {
    const { cli } = fakeCli({ restore: playing('missing') });
    expect(await problemFrom(cli.run('restore'))).toEqual({
      code: 'snapshot.missing',
      message: 'no such snapshot: 2020',
      hint: '`scratchflow snapshots list` shows them all',
      retryable: false,
    });
  });

  test('passes over types of events that it does not know', async () => {
    const news = { line: { type: 'news', text: 'x' } };
    const { cli } = fakeCli({
      backup: { steps: [{ hello: true }, news, summary({ kind: 'full' })] },
    });
    expect((await cli.run('backup')).data).toMatchObject({ kind: 'full' });
  });
});

describe('a CLI that is not as it should be', () => {
  test('missing: says so', async () => {
    const { cli } = fakeCli({}, { locate: () => Promise.resolve('/nowhere/scratchflow') });
    expect((await problemFrom(cli.run('backup')))?.code).toBe('cli.missing');
  });

  test('too old: says which version it is and which is needed', async () => {
    const { cli } = fakeCli({
      backup: { steps: [{ hello: { version: '0.0.1' } }, { hang: true }] },
    });
    const problem = await problemFrom(cli.run('backup'));
    expect(problem?.code).toBe('cli.too_old');
    expect(problem?.message).toContain('0.0.1');
  });

  test('too old for a verb: is not told as a typing mistake', async () => {
    const { cli } = fakeCli({ nodes: playing('usage') });
    expect((await problemFrom(cli.run('nodes')))?.code).toBe('cli.too_old');
  });

  test('a value that it refuses is told in its own words', async () => {
    const message = '`--gpus` takes a number, not `abc`';
    // The command line is judged before there is an operation.
    const line = { type: 'error', op: 'scratchflow', code: 'usage.invalid', message, exit_code: 2 };
    const { cli } = fakeCli({ allocate: { steps: [{ hello: true }, { line }] } });
    const problem = await problemFrom(cli.run('allocate'));
    expect(problem).toMatchObject({ code: 'usage.invalid', message });
  });

  test('too old for --json: is not told as a crash', async () => {
    const { cli } = fakeCli({
      backup: { steps: [{ stderr: 'no such option: --json\n' }, { exit: 2 }] },
    });
    expect((await problemFrom(cli.run('backup')))?.code).toBe('cli.broken');
  });

  test('crashing: says how it ended; what it printed is in the log', async () => {
    const steps = [{ hello: true }, { stderr: 'Traceback: boom\n' }, { exit: 70 }];
    const { cli, log } = fakeCli({ backup: { steps } });
    const problem = await problemFrom(cli.run('backup'));
    expect(problem).toMatchObject({ code: 'cli.crashed', retryable: true });
    expect(problem?.message).toContain('exit code 70');
    expect(log).toContain('Traceback: boom');
  });

  test('printing garbage: is stopped and told apart from a crash', async () => {
    const { cli, log } = fakeCli({ backup: { steps: [{ raw: '<html>\n' }, { hang: true }] } });
    expect((await problemFrom(cli.run('backup')))?.code).toBe('cli.broken');
    expect(log).toContain('<html>');
  });

  test('garbage between good lines does no harm', async () => {
    const steps = [
      { hello: true },
      { raw: 'a warning of some library\n' },
      summary({ kind: 'full' }),
    ];
    const { cli } = fakeCli({ backup: { steps } });
    expect((await cli.run('backup')).data).toMatchObject({ kind: 'full' });
  });

  test('hanging before its first line: is stopped', async () => {
    const limits = { helloMs: 300, graceMs: 200 };
    const { cli } = fakeCli({ backup: { steps: [{ hang: true }] } }, { limits });
    expect((await problemFrom(cli.run('backup')))?.code).toBe('cli.silent');
  });

  test('silent for too long: is stopped where silence is not right', async () => {
    const { cli } = fakeCli({ backup: { steps: [{ hello: true }, { hang: true }] } });
    expect((await problemFrom(cli.run('backup', { silenceMs: 200 })))?.code).toBe('cli.silent');
  });
});

describe('cancelling', () => {
  const interrupted = [failure('ended.by_signal', 'interrupted'), { exit: 130 }];

  async function cancelWhenGreeted(steps: object[]) {
    const play = { backup: { steps: [{ hello: true }, { hang: true }], onSigint: steps as never } };
    const { cli, calls } = fakeCli(play, { limits: { graceMs: 300 } });
    const abort = new AbortController();
    const problem = await problemFrom(
      cli.run('backup', { signal: abort.signal, onEvent: () => abort.abort() }),
    );
    return { problem, calls };
  }

  test('sends the CLI what Ctrl-C would, and says no more about it', async () => {
    const line = {
      type: 'error',
      code: 'ended',
      message: '',
      hint: '',
      retryable: true,
      exit_code: 130,
    };
    const { problem, calls } = await cancelWhenGreeted([{ line }, { exit: 130 }]);
    expect(problem?.code).toBe('cli.cancelled');
    expect(calls().map(({ signal }) => signal)).toContain('SIGINT');
  });

  test('passes on what the CLI says became of it', async () => {
    const message = 'Cancelled. The request (job 4) was withdrawn.';
    const line = { type: 'error', code: 'signal.ended', message, hint: '', exit_code: 130 };
    const { problem } = await cancelWhenGreeted([{ line }, { exit: 130 }]);
    expect(problem).toMatchObject({ code: 'cli.cancelled', message });
  });

  test('tells what went wrong when the request could not be withdrawn', async () => {
    const { problem } = await cancelWhenGreeted(interrupted);
    expect(problem?.code).toBe('ended.by_signal');
  });

  test('ends a CLI that does not react', async () => {
    const { problem } = await cancelWhenGreeted([{ hang: true }]);
    expect(problem?.code).toBe('cli.cancelled');
  });

  test('is not what a window does that closes: it only hangs up', async () => {
    const play = { allocate: { steps: [{ hello: true }, { hang: true }] } };
    const { cli, calls } = fakeCli(play);
    const problem = await problemFrom(cli.run('allocate', { onEvent: () => cli.dispose() }));
    expect(problem?.code).toBe('cli.cancelled');
    expect(calls().map(({ signal }) => signal)).not.toContain('SIGINT');
  });

  test('before the start starts nothing', async () => {
    const { cli, calls } = fakeCli({ backup: answering({}) });
    const problem = await problemFrom(cli.run('backup', { signal: AbortSignal.abort() }));
    expect(problem?.code).toBe('cli.cancelled');
    expect(calls()).toEqual([]);
  });
});
