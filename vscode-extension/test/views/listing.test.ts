import { describe, expect, test } from 'vitest';
import { Aging, Listing, problemRow } from '../../src/views/listing';

describe('a listing', () => {
  test('asks once for all who look, until it is out of date', async () => {
    let asked = 0;
    const listing = new Listing(() => Promise.resolve(++asked));
    expect([await listing.get(), await listing.get()]).toEqual([1, 1]);
    listing.forget();
    expect(await listing.get()).toBe(2);
  });

  test('asks anew for who wants to know now, but not twice at the same time', async () => {
    let asked = 0;
    const listing = new Listing(() => Promise.resolve(++asked));
    listing.renew();
    const first = listing.get();
    listing.renew();
    expect(await Promise.all([first, listing.get()])).toEqual([1, 1]);
    listing.renew();
    expect(await listing.get()).toBe(2);
  });

  test('keeps the newer question when an older one fails late', async () => {
    let fail = () => {};
    const answers = [new Promise<string>((_, no) => (fail = () => no(new Error('x'))))];
    let asked = 0;
    const listing = new Listing(() => answers[asked++] ?? Promise.resolve(`answer ${asked}`));
    const older = listing.get().catch(() => 'failed');
    listing.forget();
    expect(await listing.get()).toBe('answer 2');
    fail();
    expect([await older, await listing.get()]).toEqual(['failed', 'answer 2']);
  });

  test('asks again after a failure, which a row tells of', async () => {
    let asked = 0;
    const listing = new Listing(() =>
      ++asked === 1 ? Promise.reject(new Error('x')) : Promise.resolve('ok'),
    );
    const row = await listing.get().catch(problemRow);
    expect(row).toMatchObject({ icon: 'warning', command: 'scratchflow.refresh' });
    expect(await listing.get()).toBe('ok');
  });
});

describe('what is dear to ask', () => {
  test('is asked again when somebody looks and the answer is too old, never by itself', async () => {
    let asked = 0;
    let nowMs = 0;
    const aging = new Aging(
      () => Promise.resolve(++asked),
      60_000,
      () => nowMs,
    );
    expect(await aging.get()).toBe(1);
    nowMs = 59_999;
    expect(await aging.get()).toBe(1);
    nowMs = 3_600_000;
    expect(asked).toBe(1);
    expect(await aging.get()).toBe(2);
    aging.forget();
    expect(await aging.get()).toBe(3);
  });
});
