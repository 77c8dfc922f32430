// A user at the laptop: what is typed in a terminal there, and ssh to the node by the alias.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

export const CLI = join(process.env.SCRATCHFLOW_VENV ?? resolve('../.venv'), 'bin/scratchflow');
const run = promisify(execFile);

export class Laptop {
  constructor(private readonly home: string) {}

  /** Runs scratchflow as in a terminal. */
  async typed(...argv: string[]): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8' };
    return (await run(CLI, argv, { env, cwd: this.home })).stdout;
  }

  /** Runs a script on the node, by the system's own ssh and the alias. */
  async onNode(script: string): Promise<string> {
    return (await run('ssh', this.toNode(script))).stdout;
  }

  /** The same, with this stream as its input. */
  async pipeToNode(input: Readable, script: string): Promise<void> {
    const ssh = spawn('ssh', this.toNode(script), { stdio: [input, 'ignore', 'inherit'] });
    const [code] = (await once(ssh, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`ssh ended with ${code ?? 'a signal'}: ${script}`);
  }

  private toNode(script: string): string[] {
    const config = join(this.home, '.ssh/config');
    return ['-F', config, '-o', 'BatchMode=yes', 'compile_machine', script];
  }
}
