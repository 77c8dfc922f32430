// `scratchflow` in the editor's terminals: a directory of ours with a link to the program, at the end of their PATH.

import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** What the editor adds to the environment of its terminals; it keeps that over reloads. */
export interface Terminals {
  description: unknown;
  append(variable: string, value: string, options: typeof WHEN): void;
  clear(): void;
}

export interface Program {
  /** The one that commands run, or an error. */
  readonly locate: () => Promise<string>;
  /** Whether terminals find one without us. */
  readonly isOnPath: () => Promise<boolean>;
}

const DESCRIPTION = 'Adds the directory of `scratchflow` at the end of PATH';
/** Start-up files of a shell may set PATH anew: then once more after them. */
const WHEN = { applyAtProcessCreation: true, applyAtShellIntegration: true };

/** The directory; nothing else is ever in it. */
export function linkDirectory(storage: string): string {
  return join(storage, 'bin');
}

/** Lets terminals find the program that commands run, where they find none by themselves. */
export async function offerInTerminals(
  terminals: Terminals,
  storage: string,
  { locate, isOnPath }: Program,
): Promise<void> {
  const directory = linkDirectory(storage);
  const program = (await isOnPath()) ? undefined : await locate().catch(() => undefined);
  if (program === undefined) {
    // The link stays: a window with another PATH may use it.
    terminals.clear();
    return;
  }
  await mkdir(directory, { recursive: true });
  await pointAt(program, join(directory, 'scratchflow'));
  terminals.description = DESCRIPTION;
  terminals.append('PATH', delimiter + directory, WHEN);
}

/** In one step: a terminal may look for it at any moment. */
async function pointAt(program: string, link: string): Promise<void> {
  if ((await readlink(link).catch(() => undefined)) === program) return;
  const fresh = `${link}.${process.pid}`;
  await rm(fresh, { force: true });
  await symlink(program, fresh);
  await rename(fresh, link);
}
