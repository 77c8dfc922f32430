import { expect, test } from 'vitest';
import type { Hello } from '../../src/cli/protocol';
import { isBefore, judge } from '../../src/cli/versions';

const hello = (v: number, version: string) =>
  ({
    v,
    seq: 0,
    ts: '',
    op: '',
    type: 'hello',
    version,
    pid: 1,
    host: 'h',
    role: 'laptop',
  }) as unknown as Hello;

test('versions compare by their numbers', () => {
  expect(isBefore('0.9.9', '0.10.0')).toBe(true);
  expect(isBefore('0.10.0', '0.9.9')).toBe(false);
  expect(isBefore('1.0', '1.0.0')).toBe(false);
  expect(isBefore('1.0.0rc1', '1.0.0')).toBe(false);
});

test('a CLI is refused when it is too old or speaks another protocol', () => {
  expect(judge(hello(1, '9.0.0'))).toBeUndefined();
  expect(judge(hello(1, '0.0.9'))?.code).toBe('cli.too_old');
  expect(judge(hello(0, '9.0.0'))?.code).toBe('cli.too_old');
  expect(judge(hello(2, '9.0.0'))?.code).toBe('cli.too_new');
});
