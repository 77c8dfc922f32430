import { describe, expect, test } from 'vitest';
import {
  ago,
  capital,
  counted,
  duration,
  moment,
  moments,
  ofSize,
  plain,
  size,
  snapshotName,
} from '../../src/format/words';

describe('times', () => {
  test.each([
    [0, '0 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [3599, '59 min'],
    [3600, '1 h'],
    [11_520, '3 h 12 min'],
    [90_000, '1 d 1 h'],
    [-5, '0 s'],
  ])('%d seconds are said as %s', (seconds, words) => expect(duration(seconds)).toBe(words));

  test('what is less than a minute old is new', () => {
    expect(ago(30)).toBe('just now');
    expect(ago(720)).toBe('12 min ago');
  });

  test('a moment names the day unless it is today', () => {
    const now = new Date(2026, 10, 15, 12, 0).getTime();
    expect(moment(new Date(2026, 10, 15, 9, 5).toISOString(), now)).toBe('today, 09:05');
    expect(moment(new Date(2026, 10, 14, 9, 5).toISOString(), now)).toBe('Sat 14 Nov, 09:05');
    expect(moment('never', now)).toBe('never');
  });

  test('moments of one minute are told apart by their seconds', () => {
    const now = new Date(2026, 10, 15, 12, 0).getTime();
    const times = [0, 5, 70].map((s) => new Date(2026, 10, 15, 9, 5, s).toISOString());
    expect(moments(times, now)).toEqual(['today, 09:05:00', 'today, 09:05:05', 'today, 09:06']);
  });
});

test('a snapshot is called by its time, and by its id when that tells none', () => {
  const now = Date.parse('2026-11-15T12:00:00Z');
  const time = moment('2026-11-15T07:50:12Z', now);
  expect(snapshotName('20261115T075012Z-42e5ea', now)).toBe(`${time}:12`);
  expect(snapshotName('[x](command:y)', now)).not.toMatch(/\]\(/);
});

test('a sentence begins with a capital', () => {
  expect([capital('it is next'), capital('')]).toEqual(['It is next', '']);
});

test('sizes are said as the CLI says them', () => {
  expect([0, 1023, 1536, 5 * 1024 ** 3].map(size)).toEqual(['0 B', '1023 B', '1.5 KiB', '5.0 GiB']);
  expect(counted(1, 'file')).toBe('1 file');
  expect(counted(1200, 'file')).toBe('1,200 files');
});

describe('foreign text', () => {
  test('cannot become a link or an icon', () => {
    expect(plain('[free](command:evil)')).not.toMatch(/\]\(/);
    expect(plain('$(flame) node')).not.toContain('$(');
  });

  test('loses control characters and changes of direction', () => {
    expect(plain('a\u001b[31mb\nc\u202ed')).toBe('a [31mb c d');
  });
});

test('a part of a whole has one unit, and no more digits than it needs', () => {
  expect(ofSize(1.5 * 1024 ** 3, 64 * 1024 ** 3)).toBe('1.5/64 GiB');
  expect(ofSize(0, 512)).toBe('0/512 B');
});
