// Where a file or folder of a window is, as the rest of the extension names it.

import type * as vscode from 'vscode';
import type { Place } from '../state/original';

export function placeOf({ scheme, authority, path }: vscode.Uri): Place {
  if (scheme === 'file') return { host: undefined, path };
  const host = /^ssh-remote\+(.+)$/.exec(authority)?.[1];
  // Of another kind of window, nothing is ours: no alias has an empty name.
  return { host: scheme === 'vscode-remote' ? (host ?? '') : '', path };
}
