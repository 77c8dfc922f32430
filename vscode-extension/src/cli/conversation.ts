// One run of the CLI, from its first line to its last: reads events, keeps the time limits, ends it.

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { LineReader, type Line } from './lines';
import { CliError, cancelled, crashed, fromFailure, garbage } from './problem';
import { lacksVerb, missing, silent, type Problem } from './problem';
import type { AnyEvent, Failure, Hello, Summary } from './protocol';
import { judge } from './versions';

export interface Limits {
  /** Until the first line: Python on a cold network disk takes its time. */
  readonly helloMs: number;
  /** Between two lines; none for commands that may rightly be silent for long. */
  readonly silenceMs?: number;
  /** How long a cancelled command may take to clean up before it is ended less gently. */
  readonly graceMs: number;
}

export interface Start {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly limits: Limits;
  readonly onEvent: (event: AnyEvent) => void;
  /** What the process wrote that is no event: for the log. */
  readonly onText: (text: string) => void;
}

type Process = ChildProcessByStdio<null, Readable, Readable>;

export class Conversation {
  private readonly process: Process;
  private readonly reader = new LineReader();
  private hello: Hello | undefined;
  private outcome: Summary | Failure | undefined;
  private verdict: CliError | undefined;
  private isCancelled = false;
  private isLeft = false;
  private limit: NodeJS.Timeout | undefined;
  private readonly escalations: NodeJS.Timeout[] = [];

  /** Settles when the process has ended and all it wrote is read. */
  readonly ended: Promise<Summary>;

  constructor(private readonly start: Start) {
    this.process = spawn(start.file, start.args, {
      cwd: start.cwd,
      env: start.env,
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.ended = new Promise((resolve, reject) => this.listen(resolve, reject));
    this.arm(start.limits.helloMs);
  }

  /** Asks the CLI to stop, as Ctrl-C would; it withdraws what it began. */
  cancel(): void {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.end('SIGINT');
  }

  /** Ends it because nobody is left to listen: what it can leave for later, it leaves. */
  leave(): void {
    if (this.isCancelled) return;
    this.isCancelled = this.isLeft = true;
    this.end('SIGTERM');
  }

  private end(first: NodeJS.Signals): void {
    const { graceMs } = this.start.limits;
    clearTimeout(this.limit);
    this.process.kill(first);
    this.escalations.push(setTimeout(() => this.process.kill('SIGTERM'), graceMs));
    this.escalations.push(setTimeout(() => this.process.kill('SIGKILL'), graceMs * 1.5));
  }

  private listen(resolve: (summary: Summary) => void, reject: (error: CliError) => void): void {
    this.process.stdout.on('data', (chunk: Buffer) => this.read(this.reader.take(chunk)));
    this.process.stderr.on('data', (chunk: Buffer) => this.start.onText(chunk.toString('utf8')));
    this.process.on('error', (error) => {
      this.disarm();
      this.start.onText(error.message);
      reject(new CliError(missing()));
    });
    this.process.on('close', (code, signal) => {
      this.disarm();
      this.read(this.reader.end());
      const settled = this.settle(code, signal);
      if (settled instanceof CliError) reject(settled);
      else resolve(settled);
    });
  }

  private read(lines: Line[]): void {
    for (const line of lines) {
      if (this.verdict) return;
      if ('garbage' in line) this.readGarbage(line.garbage);
      else this.readEvent(line.event);
    }
  }

  private readGarbage(text: string): void {
    this.start.onText(text);
    if (!this.hello) this.give(new CliError(garbage()));
  }

  private readEvent(event: AnyEvent): void {
    if (!this.hello && !this.greet(event)) return;
    this.arm(this.start.limits.silenceMs);
    if (event.type === 'summary' || event.type === 'error') this.outcome = event;
    this.pass(event);
  }

  /** Whoever listens may find an event not to be what its type promises. */
  private pass(event: AnyEvent): void {
    try {
      this.start.onEvent(event);
    } catch (error) {
      this.start.onText(String(error));
      this.give(error instanceof CliError ? error : new CliError(garbage()));
    }
  }

  private greet(event: AnyEvent): boolean {
    if (event.type !== 'hello') {
      this.give(new CliError(garbage()));
      return false;
    }
    this.hello = event;
    const problem = judge(event);
    if (problem) this.give(new CliError(problem));
    return !problem;
  }

  /** Decides the outcome against the CLI: whatever it says from here on does not count. */
  private give(verdict: CliError): void {
    if (this.verdict) return;
    this.verdict = verdict;
    this.end('SIGTERM');
  }

  private settle(code: number | null, signal: NodeJS.Signals | null): Summary | CliError {
    if (this.verdict) return this.verdict;
    if (this.outcome?.type === 'summary') return this.outcome;
    if (this.isCancelled && isInterruption(this.outcome))
      return new CliError(cancelled(this.isLeft ? undefined : this.outcome?.message || undefined));
    if (this.outcome) return new CliError(this.judgeFailure(this.outcome));
    return new CliError(this.judgeSilence(code, signal));
  }

  private judgeSilence(code: number | null, signal: NodeJS.Signals | null): Problem {
    // A program that knows no `--json` says so with exit code 2, as every command line does.
    if (!this.hello && code === 2) return garbage();
    return crashed(signal ?? `exit code ${code ?? 'unknown'}`);
  }

  /** A verb that the CLI does not know: it is an older one. What else it refuses, it words itself. */
  private judgeFailure(failure: Failure): Problem {
    return failure.code === 'usage.unknown_command'
      ? lacksVerb(this.start.args[0] ?? '')
      : fromFailure(failure);
  }

  private arm(limitMs: number | undefined): void {
    clearTimeout(this.limit);
    if (limitMs === undefined || this.isCancelled) return;
    this.limit = setTimeout(
      () => this.give(new CliError(silent(Math.round(limitMs / 1000)))),
      limitMs,
    );
  }

  private disarm(): void {
    clearTimeout(this.limit);
    for (const timer of this.escalations) clearTimeout(timer);
  }
}

/** After Ctrl-C the CLI ends with 128+2, or with nothing when it was killed. */
function isInterruption(outcome: Failure | undefined): boolean {
  return outcome === undefined || outcome.exit_code > 128;
}
