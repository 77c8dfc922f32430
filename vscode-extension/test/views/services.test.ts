import { expect, test } from 'vitest';
import { serviceRows } from '../../src/views/services';
import { seeing, SERVING, WITH_NODE } from '../pictures';

test('each row stands for a service, and a click opens what runs', () => {
  const rows = serviceRows(seeing(SERVING));
  expect(rows.map(({ label, kind }) => `${label}: ${kind}`)).toEqual([
    'tensorboard: service',
    'jupyter: service',
    'app: endedService',
    'port-8888: service',
  ]);
  expect(rows[0]).toMatchObject({
    command: 'scratchflow.service.open',
    ref: { name: 'tensorboard', isServer: true },
  });
  expect(rows[2]?.command).toBeUndefined();
});

test('is empty while nothing runs', () => {
  expect(serviceRows(seeing(WITH_NODE))).toEqual([]);
});
