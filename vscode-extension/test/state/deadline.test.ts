import { expect, test } from 'vitest';
import { isDue } from '../../src/state/deadline';

const seen = (left: number, jobId = 7) => ({ left, jobId });

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

test('another job starts anew', () => {
  expect(isDue(seen(200, 7), seen(8000, 8))).toBe(false);
  expect(isDue(seen(8000, 7), seen(3000, 8))).toBe(false);
});
