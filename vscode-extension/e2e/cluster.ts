// A real Slurm cluster on this machine (scripts/minicluster), and a laptop's home that can log in to it.

import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SCRIPT = resolve('../scripts/minicluster');

export class Cluster {
  private readonly directory = mkdtempSync(join(tmpdir(), 'scratchflow-e2e-cluster-'));
  private readonly state = join(this.directory, 'state');

  /** Brings it up; its partition `dev` gives nodes for hours, as a real one would. */
  async start(settings: Record<string, string> = {}): Promise<void> {
    const extra = join(this.directory, 'extra.conf');
    writeFileSync(
      extra,
      'PartitionName=dev Nodes=ALL DefaultTime=03:00:00 MaxTime=08:00:00 State=UP\n',
    );
    await this.minicluster(['up'], { MC_SLURM_EXTRA: extra, ...settings });
  }

  async stop(): Promise<void> {
    await this.minicluster(['down', '--purge']);
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Lets this home's ssh know the cluster. */
  introduceTo(home: string): void {
    mkdirSync(join(home, '.ssh'), { mode: 0o700, recursive: true });
    copyFileSync(join(this.state, 'laptop/ssh_config'), join(home, '.ssh/config'));
    chmodSync(join(home, '.ssh/config'), 0o600);
  }

  /** A command on a host, as one of the cluster's users. */
  async exec(host: string, user: string, ...argv: string[]): Promise<string> {
    return this.minicluster(['exec', '-u', user, host, ...argv]);
  }

  /** The next one-time code of its first user, where MC_SECOND_FACTOR is 1. */
  async code(): Promise<string> {
    return (await this.minicluster(['code'])).trim();
  }

  /** The numbers of a user's jobs that run or wait. */
  async jobs(user: string): Promise<string[]> {
    const states = '--states=PENDING,CONFIGURING,RUNNING';
    const said = await this.exec(
      'login',
      user,
      'squeue',
      '--me',
      '--noheader',
      states,
      '--format=%i',
    );
    return said.split('\n').filter((line) => line !== '');
  }

  private async minicluster(argv: string[], env: Record<string, string> = {}): Promise<string> {
    const environment = { ...process.env, MC_STATE: this.state, ...env };
    return (await run(SCRIPT, argv, { env: environment })).stdout;
  }
}
