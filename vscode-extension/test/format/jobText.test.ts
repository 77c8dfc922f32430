import { expect, test } from 'vitest';
import { called, jobRef, nodesText, parametersText, taskRef } from '../../src/format/jobText';
import { DONE, LOST, SWEEP } from '../jobs';

test('commands are given the id, people see the number', () => {
  expect(jobRef(SWEEP)).toEqual({ wanted: 'id-41', handle: '41', name: 'sweep' });
  const [task] = SWEEP.tasks ?? [];
  expect(task && taskRef(SWEEP, task)).toMatchObject({ wanted: 'id-41_0', handle: '41_0' });
  expect(called(jobRef(LOST))).toBe('id-xx new');
});

test('parameters are told as they are written on a command line', () => {
  const parameters = { lr: 0.1, name: 'a b', layers: [1, 2], flag: true };
  const [task] = DONE.tasks ?? [];
  expect(task && parametersText({ ...task, parameters })).toBe(
    'lr=0.1 name=a b layers=[1,2] flag=true',
  );
});

test('of several nodes the first is named and the others are counted', () => {
  expect(nodesText(DONE)).toBe('');
  expect(nodesText(SWEEP)).toBe('node-1 +1');
});
