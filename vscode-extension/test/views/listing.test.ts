import { describe, expect, test } from 'vitest';
import { Listing, problemRow } from '../../src/views/listing';

describe('a listing', () => {
  test('asks once for all who look, until it is out of date', async () => {
    let asked = 0;
    const listing = new Listing(() => Promise.resolve(++asked));
    expect([await listing.get(), await listing.get()]).toEqual([1, 1]);
    listing.forget();
    expect(await listing.get()).toBe(2);
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
