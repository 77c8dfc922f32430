// One run of the CLI whose output is for people to read as it comes: started, passed on, ended.

import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { homedir } from 'node:os';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { allowed } from './environment';

const GRACE_MS = 20_000;

export class Output {
  private readonly process: ChildProcessByStdio<null, Readable, Readable>;
  private last: NodeJS.Timeout | undefined;

  /** How it ended, once all it wrote was passed on: an exit code, a signal, or why it did not start. */
  readonly ended: Promise<string>;

  constructor(file: string, args: readonly string[], onText: (text: string) => void) {
    this.process = spawn(file, args, {
      cwd: homedir(),
      env: allowed(process.env),
      shell: false,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    pass(this.process.stdout, onText);
    pass(this.process.stderr, onText);
    this.ended = new Promise((resolve) => {
      this.process.on('error', (error) => resolve(error.message));
      this.process.on('close', (code, signal) => {
        clearTimeout(this.last);
        resolve(code === null ? (signal ?? '') : `exit code ${code}`);
      });
    });
  }

  /** As Ctrl-C would; what does not listen to that is ended less gently. */
  stop(): void {
    if (this.last || this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGINT');
    this.last = setTimeout(() => this.process.kill('SIGKILL'), GRACE_MS);
  }
}

function pass(stream: Readable, onText: (text: string) => void): void {
  // A character may come in two pieces.
  const decoder = new StringDecoder('utf8');
  stream.on('data', (chunk: Buffer) => onText(decoder.write(chunk)));
}
