// Finds the CLI: the setting, then PATH, then the one this extension installed. Never in a workspace.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { CliError, badPath, missing } from './problem';

export interface Places {
  /** `scratchflow.cliPath`, as the user wrote it. */
  readonly setting: string;
  readonly path: string;
  /** Folders that are open in the editor, and the one of our link to the program: nothing in them is ever started. */
  readonly folders: readonly string[];
  /** The CLI in the extension's own venv, if it is installed there. */
  readonly own: string;
}

export async function locate(places: Places): Promise<string> {
  if (places.setting.trim() !== '') return fromSetting(places.setting.trim());
  const found = await firstOf([...onPath(places), places.own]);
  if (found === undefined) throw new CliError(missing());
  return found;
}

/** Whether a shell would find one. */
export async function isOnPath(places: Places): Promise<boolean> {
  return (await firstOf(onPath(places))) !== undefined;
}

async function firstOf(candidates: readonly string[]): Promise<string | undefined> {
  for (const candidate of candidates) if (await isExecutable(candidate)) return candidate;
  return undefined;
}

async function fromSetting(written: string): Promise<string> {
  const path = written.startsWith('~/') ? join(homedir(), written.slice(2)) : written;
  if (!isAbsolute(path)) throw new CliError(badPath(written, 'that is not an absolute path'));
  if (!(await isExecutable(path))) {
    throw new CliError(badPath(written, 'there is no program there that can be run'));
  }
  return path;
}

/** Where PATH leads; an empty or relative entry would mean the folder that happens to be current. */
export function onPath({ path, folders }: Places): string[] {
  return path
    .split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .filter((directory) => !folders.some((folder) => isInside(directory, folder)))
    .map((directory) => join(directory, 'scratchflow'));
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

async function isExecutable(path: string): Promise<boolean> {
  if (path === '') return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
