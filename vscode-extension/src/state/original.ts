// The file of the workspace that an editor shows, as the last snapshot has it. Pure.

import { posix } from 'node:path';
import type { InSnapshot } from '../cli/snapshotFiles';
import type { Picture } from './state';

/** A file or folder of a window: by its whole path, and the ssh host that the window is on, if any. */
export interface Place {
  readonly host: string | undefined;
  readonly path: string;
}

/** Nothing for what lies outside of the workspace, and while no snapshot is known. */
export function originalOf({ status }: Picture, place: Place): InSnapshot | undefined {
  const id = status?.snapshots.last_id;
  if (!status || !id || place.host !== status.alias?.name) return undefined;
  const { profile, workspace } = status;
  const inside = posix.relative(workspace.path, place.path);
  if (inside === '' || inside.split('/')[0] === '..') return undefined;
  return {
    snapshot: { profile, id },
    path: posix.join(posix.basename(workspace.path), inside),
  };
}

/** Whether a folder of a window lies in the workspace or around it. */
export function hasWorkspace({ status }: Picture, { host, path }: Place): boolean {
  if (!status || host !== status.alias?.name) return false;
  const workspace = status.workspace.path;
  return isWithin(path, workspace) || isWithin(workspace, path);
}

/** Whether `inner` is `outer` or lies beneath it. */
export function isWithin(outer: string, inner: string): boolean {
  return posix.relative(outer, inner).split('/')[0] !== '..';
}
