// Submitted jobs for tests, as `jobs --json` lists them: oldest first.

import type { JobShown, JobsListed } from '../src/cli/protocol';

const asked = {
  command: ['python', 'train.py'],
  snapshot: 's',
  directory: '/fsx/j',
  profile: 'aws',
};

export const DONE: JobShown = {
  ...{
    ...asked,
    job: 'id-40',
    number: 40,
    handle: '40',
    name: 'eval',
    time: '2026-11-15T09:00:00Z',
  },
  ...{ state: 'COMPLETED', states: 'COMPLETED', condition: 'succeeded' },
  tasks: [{ task: 0, job_id: 40, handle: '40', state: 'COMPLETED', condition: 'succeeded' }],
};

export const SWEEP: JobShown = {
  ...{ ...asked, job: 'id-41', number: 41, handle: '41', name: 'sweep' },
  ...{ time: '2026-11-15T10:00:00Z', is_array: true, is_open: true, failed_tasks: 1 },
  ...{ state: 'RUNNING', states: '1 RUNNING, 1 FAILED', condition: 'running' },
  tasks: [
    {
      ...{ task: 0, job_id: 41, handle: '41_0', node: 'node-1', parameters: { lr: 0.1 } },
      ...{ state: 'RUNNING', condition: 'running', is_open: true },
    },
    {
      ...{ task: 1, job_id: 42, handle: '41_1', node: 'node-2', parameters: { lr: 1 } },
      ...{ state: 'FAILED', condition: 'failed', why: 'exit code 3' },
    },
  ],
};

/** The answer of `sbatch` was lost: it has no number yet. */
export const LOST: JobShown = {
  ...{ ...asked, job: 'id-xx', number: null, handle: 'id-xx', name: 'new' },
  ...{ time: '2026-11-15T11:00:00Z', state: 'SUBMITTING', states: 'SUBMITTING' },
  ...{ condition: 'waiting', is_open: true },
  tasks: [
    ...[
      {
        task: 0,
        job_id: null,
        handle: 'id-xx',
        state: 'SUBMITTING',
        condition: 'waiting' as const,
      },
    ],
  ],
};

export const LISTED: JobsListed = { jobs: [DONE, SWEEP, LOST] };
