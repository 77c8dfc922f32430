import { expect, test } from 'vitest';
import { isDue } from '../../src/state/deadline';

const seen = (left: number, end = '2026-11-15T15:00:00Z') => ({ left, end });

test('warns once each when 60, 15 and 5 minutes are passed', () => {
  const looks = [8000, 3700, 3590, 3000, 901, 899, 400, 290, 10];
  const due = looks.filter((left, index) => {
    const before = looks[index - 1];
    return isDue(before === undefined ? undefined : seen(before), seen(left));
  });
  expect(due).toEqual([3590, 899, 290]);
});

test('warns once when several limits were passed while nobody looked', () => {
  expect(isDue(seen(8000), seen(200))).toBe(true);
});

test('a window that opens late says only what is urgent', () => {
  expect(isDue(undefined, seen(3000))).toBe(false);
  expect(isDue(undefined, seen(600))).toBe(true);
});

test('a job that got more time is told of again when that has run low, also where nobody looked meanwhile', () => {
  expect(isDue(seen(600), seen(590))).toBe(false);
  expect(isDue(seen(600), seen(590, '2026-11-15T15:00:01Z'))).toBe(false);
  expect(isDue(seen(600), seen(8000, '2026-11-15T17:00:00Z'))).toBe(false);
  expect(isDue(seen(600), seen(590, '2026-11-15T17:00:00Z'))).toBe(true);
  expect(isDue({ left: 600, end: null }, { left: 590, end: null })).toBe(false);
});
