import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Cli, Options } from '../../src/cli/cli';
import { CliError, crashed, missing } from '../../src/cli/problem';
import type { AnyEvent } from '../../src/cli/protocol';
import type { Happening } from '../../src/state/state';
import { Watch } from '../../src/state/watch';
import { WITH_NODE } from '../pictures';

/** A CLI whose `status --watch` ends when the test says so. */
function lab() {
  const happenings: Happening[] = [];
  const runs: { options: Options; end: (error: Error) => void }[] = [];
  const run = (_op: string, options: Options) =>
    new Promise((_resolve, reject) => {
      runs.push({ options, end: reject });
      options.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    });
  const cli = { run } as unknown as Cli;
  const watch = new Watch({
    cli,
    tell: (happening) => happenings.push(happening),
    now: () => Date.now(),
  });
  const links = () => happenings.flatMap((one) => (one.type === 'link' ? [one.link.is] : []));
  return { watch, happenings, runs, links };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const passes = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('the one watch', () => {
  test('runs once, however often it is started', () => {
    const { watch, runs } = lab();
    watch.start();
    watch.start();
    expect(runs).toHaveLength(1);
    expect(runs[0]?.options.args).toEqual(['--watch']);
  });

  test('tells each status', () => {
    const { watch, happenings, runs } = lab();
    watch.start();
    runs[0]?.options.onEvent?.({ type: 'status', data: WITH_NODE } as unknown as AnyEvent);
    expect(happenings.at(-1)).toMatchObject({ type: 'status', data: WITH_NODE });
  });

  test('is started again with growing pauses when it ends', async () => {
    const { watch, runs } = lab();
    watch.start();
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      const before = runs.length;
      runs.at(-1)?.end(new CliError(crashed('SIGKILL')));
      await passes(pauseMs - 100);
      expect(runs).toHaveLength(before);
      await passes(200);
      expect(runs).toHaveLength(before + 1);
    }
  });

  test('after a good run the pause is short again', async () => {
    const { watch, runs } = lab();
    watch.start();
    runs.at(-1)?.end(new CliError(crashed('x')));
    await passes(2_100);
    await passes(120_000);
    runs.at(-1)?.end(new CliError(crashed('x')));
    await passes(2_100);
    expect(runs).toHaveLength(3);
  });

  test('is not started again when only the user can help, until they do', async () => {
    const { watch, runs, links } = lab();
    watch.start();
    runs[0]?.end(new CliError(missing()));
    await passes(3_600_000);
    expect(runs).toHaveLength(1);
    expect(links().at(-1)).toBe('stopped');
    watch.start();
    expect(runs).toHaveLength(2);
  });

  test('does not log in again and again when a password is needed', async () => {
    const { watch, runs, links } = lab();
    watch.start();
    const problem = { code: 'auth.needed', message: '', hint: '', retryable: true };
    runs[0]?.end(new CliError(problem));
    await passes(3_600_000);
    expect(runs).toHaveLength(1);
    expect(links().at(-1)).toBe('stopped');
  });

  test('rests when the window is out of sight for long, and wakes with it', async () => {
    const { watch, runs, links } = lab();
    watch.start();
    watch.focusChanged(false);
    await passes(110_000);
    expect(runs[0]?.options.signal?.aborted).toBe(false);
    await passes(20_000);
    expect(runs[0]?.options.signal?.aborted).toBe(true);
    expect(links().at(-1)).toBe('paused');
    watch.focusChanged(true);
    expect(runs).toHaveLength(2);
  });

  test('does not rest when the user comes back in time', async () => {
    const { watch, runs } = lab();
    watch.start();
    watch.focusChanged(false);
    await passes(60_000);
    watch.focusChanged(true);
    await passes(3_600_000);
    expect(runs[0]?.options.signal?.aborted).toBe(false);
  });

  test('starts anew when the settings change, and does not report the end of the old run', async () => {
    const { watch, runs, links } = lab();
    watch.start();
    watch.restart();
    await passes(10_000);
    expect(runs).toHaveLength(2);
    expect(links()).toEqual(['starting', 'starting']);
  });

  test('a run that was replaced tells nothing more: it is of the settings before', () => {
    const { watch, happenings, runs } = lab();
    watch.start();
    watch.restart();
    runs[0]?.options.onEvent?.({ type: 'status', data: WITH_NODE } as unknown as AnyEvent);
    expect(happenings.filter(({ type }) => type === 'status')).toEqual([]);
  });

  test('stopped, it stays stopped', async () => {
    const { watch, runs } = lab();
    watch.start();
    watch.stop();
    await passes(3_600_000);
    expect(runs).toHaveLength(1);
  });
});
