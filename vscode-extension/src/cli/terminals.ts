// `scratchflow` in the editor's terminals: a directory of ours with a link to the program at the end of their PATH, and
// the profile of the window.

import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** What the editor adds to the environment of terminals that are opened from now on. */
export interface Terminals {
  description: unknown;
  /** Whether terminals have it after a reload already before the extension has started. */
  persistent: boolean;
  append(variable: string, value: string, options: typeof WHEN): void;
  replace(variable: string, value: string, options: typeof WHEN): void;
  delete(variable: string): void;
}

export interface Program {
  /** The one that commands run, or an error. */
  readonly locate: () => Promise<string>;
  /** Whether terminals find one without us. */
  readonly isOnPath: () => Promise<boolean>;
  /** What commands of this window get as `--profile`; empty when they get none. */
  readonly profile: () => string;
}

const PATH = 'PATH';
/** What the program reads where no `--profile` is given. */
const PROFILE = 'SCRATCHFLOW_PROFILE';
/** Start-up files of a shell may set them anew: then once more after them. */
const WHEN = { applyAtProcessCreation: true, applyAtShellIntegration: true };

/** The directory; nothing else is ever in it. */
export function linkDirectory(storage: string): string {
  return join(storage, 'bin');
}

/** Lets terminals find the program that commands run, where they find none by themselves, and mean the same profile. */
export async function offerInTerminals(
  terminals: Terminals,
  storage: string,
  { locate, isOnPath, profile }: Program,
): Promise<void> {
  const directory = (await isOnPath()) ? undefined : await linked(storage, locate);
  // Read only now: the window may have been switched meanwhile.
  const name = profile();
  // A window that opens may be given another profile: none is better than the one of before.
  terminals.persistent = name === '';
  terminals.description = describe(directory, name);
  if (directory === undefined) terminals.delete(PATH);
  else terminals.append(PATH, delimiter + directory, WHEN);
  if (name === '') terminals.delete(PROFILE);
  else terminals.replace(PROFILE, name, WHEN);
}

function describe(directory: string | undefined, profile: string): string | undefined {
  const all = [
    directory === undefined ? '' : `the directory of \`scratchflow\` at the end of ${PATH}`,
    profile === '' ? '' : `the profile of this window as ${PROFILE}`,
  ];
  const parts = all.filter(Boolean);
  return parts.length === 0 ? undefined : `Adds ${parts.join(', and ')}`;
}

/** The directory with a link to the program. Without a program the link stays: a window with another PATH may use it. */
async function linked(storage: string, locate: Program['locate']): Promise<string | undefined> {
  const program = await locate().catch(() => undefined);
  if (program === undefined) return undefined;
  const directory = linkDirectory(storage);
  await mkdir(directory, { recursive: true });
  await pointAt(program, join(directory, 'scratchflow'));
  return directory;
}

/** In one step: a terminal may look for it at any moment. */
async function pointAt(program: string, link: string): Promise<void> {
  if ((await readlink(link).catch(() => undefined)) === program) return;
  const fresh = `${link}.${process.pid}`;
  await rm(fresh, { force: true });
  await symlink(program, fresh);
  await rename(fresh, link);
}
