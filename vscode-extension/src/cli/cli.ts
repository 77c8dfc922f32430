// Runs the CLI: finds it, gives it arguments as an array, and returns its result or throws a CliError.

import { homedir } from 'node:os';
import { Conversation, type Limits } from './conversation';
import { allowed } from './environment';
import { CliError, cancelled } from './problem';
import type { AnyEvent, Results } from './protocol';

export interface Options {
  readonly args?: readonly string[];
  readonly onEvent?: (event: AnyEvent) => void;
  /** Aborting it cancels the command. */
  readonly signal?: AbortSignal;
  readonly silenceMs?: number;
  /** Another profile than the one in use. */
  readonly profile?: string;
  /** It asks all profiles, or makes one: then none is named. */
  readonly withoutProfile?: boolean;
}

export interface Done<T> {
  readonly data: T;
  readonly warnings: number;
}

export interface Surroundings {
  /** An absolute path, or a CliError. */
  readonly locate: () => Promise<string>;
  /** What every command line gets, like `--profile`. */
  readonly globalArgs: () => readonly string[];
  readonly log: (line: string) => void;
  readonly limits?: Partial<Limits>;
}

const LIMITS: Limits = { helloMs: 20_000, graceMs: 20_000 };

/** The operations that the CLI answers with a result of a known type. */
export type Op = keyof Results;

export class Cli {
  private readonly running = new Map<Conversation, readonly string[]>();
  private isDisposed = false;

  constructor(private readonly around: Surroundings) {}

  /** The words of `op` are the verb: `snapshots list` runs `scratchflow snapshots list`. */
  async run<O extends Op>(op: O, options: Options = {}): Promise<Done<Results[O]>> {
    const file = await this.around.locate();
    if (options.signal?.aborted) throw new CliError(cancelled());
    const verb = op.split(' ');
    const args = [...verb, ...(options.args ?? []), ...this.globals(options), '--json'];
    const summary = await this.converse(file, args, options);
    // The schema ties `op` to the type of `data`; the CLI's own tests hold it to that.
    return { data: summary.data as unknown as Results[O], warnings: summary.warnings };
  }

  /** The window closes: everything that still runs ends, and a request for a node stays in the queue. */
  dispose(): void {
    this.isDisposed = true;
    for (const conversation of this.running.keys()) conversation.leave();
  }

  get isClosing(): boolean {
    return this.isDisposed;
  }

  /** Whether a command is under way, beside the one that only watches. */
  isBusy(): boolean {
    return [...this.running.values()].some((args) => !args.includes('--watch'));
  }

  private globals({ profile, withoutProfile }: Options): readonly string[] {
    if (withoutProfile) return [];
    return profile === undefined ? this.around.globalArgs() : ['--profile', profile];
  }

  private async converse(file: string, args: readonly string[], options: Options) {
    const { log } = this.around;
    const startedMs = Date.now();
    log(`$ ${commandLine([file, ...args])}`);
    const conversation = new Conversation({
      file,
      args,
      cwd: homedir(),
      env: allowed(process.env),
      limits: limitsOf(this.around, options),
      onEvent: options.onEvent ?? (() => undefined),
      onText: (text) => log(text.trimEnd()),
    });
    const cancel = () => conversation.cancel();
    options.signal?.addEventListener('abort', cancel);
    this.running.set(conversation, args);
    try {
      return await conversation.ended;
    } finally {
      this.running.delete(conversation);
      options.signal?.removeEventListener('abort', cancel);
      log(
        `# ${args.slice(0, 2).join(' ')}: ended after ${((Date.now() - startedMs) / 1000).toFixed(1)} s`,
      );
    }
  }
}

function limitsOf(around: Surroundings, options: Options): Limits {
  const limits = { ...LIMITS, ...around.limits };
  return options.silenceMs === undefined ? limits : { ...limits, silenceMs: options.silenceMs };
}

/** For reading and for pasting into a shell; nothing here ever runs it. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w./=:,@%+-]+$/.test(word) ? word : quote(word))).join(' ');
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
