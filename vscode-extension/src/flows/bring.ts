// How a workspace comes to a node: from its last snapshot, or made where there is none. Pure.

import type { Picture } from '../state/state';
import { offerFor, type Offer } from '../verbs';

export const RESTORE = 'scratchflow.restore';

export function workspaceOffer({ status }: Picture): Offer | undefined {
  return offerFor(status?.snapshots.count === 0 ? 'create' : 'restore');
}
