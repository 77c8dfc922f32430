// Directories and files of snapshots, asked of the CLI. A snapshot never changes: what was listed once stays true.

import { posix } from 'node:path';
import type { Cli } from './cli';
import type { PathEntry } from './protocol';

export interface SnapshotPlace {
  readonly profile: string;
  readonly id: string;
}

export interface InSnapshot {
  readonly snapshot: SnapshotPlace;
  /** From the workspace's name down: `work/src/main.py`; empty for the top. */
  readonly path: string;
}

/** `/PROFILE/ID/work/src/main.py`: the path of a URI. */
export function uriPath({ snapshot, path }: InSnapshot): string {
  return posix.join('/', snapshot.profile, snapshot.id, path);
}

/** What such a path means, or nothing when it does not name a snapshot. */
export function inSnapshot(path: string): InSnapshot | undefined {
  const [profile, id, ...names] = path.split('/').filter((name) => name !== '');
  if (profile === undefined || id === undefined) return undefined;
  return { snapshot: { profile, id }, path: names.join('/') };
}

/** A name that is not UTF-8 is called what the CLI takes for it. */
export function entryName({ path, typed }: PathEntry): string {
  return posix.basename(path ?? typed ?? '');
}

const MOST_LISTINGS = 1_000;

export class SnapshotFiles {
  private readonly listings = new Map<string, Promise<readonly PathEntry[]>>();

  constructor(private readonly cli: Pick<Cli, 'run'>) {}

  list(where: InSnapshot): Promise<readonly PathEntry[]> {
    const key = uriPath(where);
    const known = this.listings.get(key);
    if (known) return known;
    const asked = this.ask(where);
    this.listings.set(key, asked);
    asked.catch(() => this.listings.delete(key));
    for (const oldest of this.listings.keys()) {
      if (this.listings.size <= MOST_LISTINGS) break;
      this.listings.delete(oldest);
    }
    return asked;
  }

  /** Nothing for the top, and for what is not there. */
  async entry({ snapshot, path }: InSnapshot): Promise<PathEntry | undefined> {
    const directory = posix.dirname(path);
    const entries = await this.list({ snapshot, path: directory === '.' ? '' : directory });
    return entries.find((one) => entryName(one) === posix.basename(path));
  }

  async read({ snapshot, path }: InSnapshot): Promise<Uint8Array> {
    const { id, profile } = snapshot;
    const { data } = await this.cli.run('snapshots cat', { args: [id, path], profile });
    return Buffer.from(data.content_b64 ?? '', 'base64');
  }

  private async ask({ snapshot, path }: InSnapshot): Promise<readonly PathEntry[]> {
    const { id, profile } = snapshot;
    const { data } = await this.cli.run('snapshots show', { args: [id, path], profile });
    return data.entries;
  }
}
