// Where the workspace is, seen from this window. Pure.

import type { StatusShown } from '../cli/protocol';

/** The ssh host that leads to the workspace, or nothing when it is on this machine. */
export function hostOf(status: StatusShown | undefined): string | undefined {
  return status?.alias?.name;
}
