// Where a path of this machine leads: a folder may be open by another name, through a link.

import { realpath } from 'node:fs/promises';
import { posix } from 'node:path';

/** What is not there keeps its name, in the folder that it would be in. */
export function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => inRealFolder(path));
}

/** The same for what may be a link itself and is meant as one: only the folder that it is in is followed. */
export async function inRealFolder(path: string): Promise<string> {
  return posix.join(await realPath(posix.dirname(path)), posix.basename(path));
}
