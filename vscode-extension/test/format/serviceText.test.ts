import { expect, test } from 'vitest';
import { servicesOf } from '../../src/format/serviceText';
import { SERVING, WITH_NODE } from '../pictures';

test('a server is shown by its address here, its problem or its end', () => {
  const texts = servicesOf(SERVING).map(({ name, text, tint }) => [name, text, tint]);
  expect(texts).toEqual([
    ['tensorboard', 'http://127.0.0.1:6006/ → node-1', 'good'],
    ['jupyter', 'on node-1, not open here yet', 'good'],
    ['app', 'ended on node-1: exit code 1', 'bad'],
    ['port-8888', 'http://127.0.0.1:8889/ → port 8888, waits: no link', 'warning'],
  ]);
});

test('nothing runs where nothing is known', () => {
  expect(servicesOf(undefined)).toEqual([]);
  expect(servicesOf(WITH_NODE)).toEqual([]);
});

test('foreign text is shown as text', () => {
  const server = { name: 'x', kind: 'command' as const, node: 'n', ended: '[a](command:b) $(x)' };
  expect(servicesOf({ ...WITH_NODE, servers: [server] })[0]?.text).not.toContain('](');
});
