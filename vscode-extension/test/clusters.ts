// Several clusters and their homes, for tests.

import type { Conflict, LastPair, StatusOfAll, SyncRecalled } from '../src/cli/protocol';
import { NO_NODE, PENDING, WITH_NODE } from './pictures';

export const CONFLICT: Conflict = { path: 'notes/todo.md', first: 'changed', other: 'deleted' };

/** Between the homes of `uni` and `aws`, one of them left for somebody to decide. */
export const PAIR: LastPair = {
  profile: 'aws',
  condition: 'conflicts',
  synced_time: '2026-11-15T11:48:00Z',
  synced_age_s: 720,
  to_first: 1,
  to_profile: 3,
  looked_time: '2026-11-15T11:59:00Z',
  looked_age_s: 60,
  conflicts: [CONFLICT],
  conflict_count: 1,
};

export const RECALLED: SyncRecalled = { first: 'uni', folders: ['notes', 'p'], pairs: [PAIR] };

export const EVERYWHERE: StatusOfAll = {
  profiles: [
    { ...WITH_NODE, profile: 'uni' },
    { ...NO_NODE, profile: 'aws', saved: null },
    { ...PENDING, profile: 'lab' },
    { ...NO_NODE, profile: 'desk', alias: null },
  ],
  failed: [
    {
      profile: 'mila',
      login: 'login.mila',
      code: 'profile.silent',
      message: 'profile `mila` did not answer within 26 s',
      hint: '`scratchflow status --profile mila` waits longer',
    },
  ],
};
