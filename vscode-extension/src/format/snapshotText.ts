// A snapshot as the CLI lists it. Pure.

import type { SnapshotRow } from '../cli/protocol';
import { plain } from './words';

/** Its message as people read it: ids in it are short. */
export function messageOf({ message, shown_message: shown = '' }: SnapshotRow): string {
  return plain(shown || message);
}
