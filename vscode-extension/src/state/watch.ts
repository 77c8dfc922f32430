// Keeps one `status --watch` running: starts it again with growing pauses, lets it rest while the
// window is out of sight for long, and reports both to the state machine.

import type { Cli } from '../cli/cli';
import { CliError, crashed, garbage, problemOf, type Problem } from '../cli/problem';
import type { Happening } from './state';
import type { StatusShown } from '../cli/protocol';

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
const REST_AFTER_MS = 2 * 60_000;
/** The CLI speaks at least every 60 s; one that is silent for longer has lost its connection. */
const SILENCE_MS = 150_000;
/** A run that lasted this long was a good one: the next pause is the shortest again. */
const GOOD_RUN_MS = 60_000;

export interface Watched {
  readonly cli: Cli;
  readonly tell: (happening: Happening) => void;
  readonly now: () => number;
}

export class Watch {
  private running: AbortController | undefined;
  private again: NodeJS.Timeout | undefined;
  private rest: NodeJS.Timeout | undefined;
  private isResting = false;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(private readonly watched: Watched) {}

  /** Starts at once, also when it was waiting for its next try or had given up. */
  start(): void {
    clearTimeout(this.again);
    this.isResting = false;
    if (this.running) return;
    const running = new AbortController();
    this.running = running;
    this.watched.tell({ type: 'link', link: { is: 'starting' } });
    void this.follow(running);
  }

  /** The settings or the CLI changed: the running watch is out of date. */
  restart(): void {
    this.stop();
    this.pauseMs = FIRST_PAUSE_MS;
    this.start();
  }

  focusChanged(isFocused: boolean): void {
    clearTimeout(this.rest);
    if (!isFocused) this.rest = setTimeout(() => this.goToRest(), REST_AFTER_MS);
    else if (this.isResting) this.start();
  }

  stop(): void {
    clearTimeout(this.again);
    clearTimeout(this.rest);
    this.running?.abort();
    this.running = undefined;
  }

  private goToRest(): void {
    this.stop();
    this.isResting = true;
    this.watched.tell({ type: 'link', link: { is: 'paused' } });
  }

  private async follow(running: AbortController): Promise<void> {
    const startedMs = this.watched.now();
    const problem = await this.listen(running.signal);
    if (this.running !== running) return;
    this.running = undefined;
    if (this.watched.now() - startedMs > GOOD_RUN_MS) this.pauseMs = FIRST_PAUSE_MS;
    if (problem.retryable && !needsUser(problem)) this.tryAgain(problem);
    else this.watched.tell({ type: 'link', link: { is: 'stopped', problem } });
  }

  private async listen(signal: AbortSignal): Promise<Problem> {
    try {
      await this.watched.cli.run('status', {
        args: ['--watch'],
        silenceMs: SILENCE_MS,
        signal,
        onEvent: (event) => {
          // One that is being stopped may still speak, of the profile before.
          if (event.type === 'status' && !signal.aborted) this.learn(event.data);
        },
      });
      return crashed('it stopped watching by itself');
    } catch (error) {
      return problemOf(error);
    }
  }

  private learn(data: Record<string, unknown>): void {
    if (!isStatus(data)) throw new CliError(garbage());
    this.watched.tell({ type: 'status', data, atMs: this.watched.now() });
  }

  private tryAgain(problem: Problem): void {
    const retryAtMs = this.watched.now() + this.pauseMs;
    this.watched.tell({ type: 'link', link: { is: 'waiting', problem, retryAtMs } });
    this.again = setTimeout(() => this.start(), this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Logging in again and again without the user's password or key would get them locked out. */
function needsUser({ code }: Problem): boolean {
  return code.startsWith('auth.') || code.startsWith('host_key.');
}

/** Whether all that the views read without asking is there. */
function isStatus(data: object): data is StatusShown {
  const parts = ['profile', 'allocation', 'alias', 'workspace', 'snapshots', 'autobackup'];
  return parts.every((part) => part in data);
}
