import { expect, test } from 'vitest';
import { allocationRows } from '../../src/views/allocation';
import { spokenText } from '../../src/views/row';
import { NOW, PENDING, seeing, WITH_NODE } from '../pictures';

const spoken = (rows: Parameters<typeof spokenText>[0][]) => rows.map(spokenText);

test('a row is announced by its name, what is beside it, and then its tooltip', () => {
  expect(spoken(allocationRows(seeing(WITH_NODE), NOW))[0]).toBe(
    'Node, node-1 · ssh compile_machine, Job 7 in partition debug, `ssh compile_machine` leads to this node',
  );
  expect(spoken(allocationRows(seeing(PENDING), NOW))[0]).toBe(
    'Waiting in the queue, It stays in the queue when you close the window.',
  );
  expect(spokenText({ label: 'CPU', tooltip: 'x', spoken: 'CPU: 3 of 4 cores' })).toBe(
    'CPU: 3 of 4 cores',
  );
});
