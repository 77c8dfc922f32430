// Tells that the allocation is about to end, with what can be done about it.

import { isDue, type Seen } from '../state/deadline';
import { held, secondsLeft } from '../state/state';
import { offerFor } from '../verbs';
import { duration, plain } from '../format/words';
import type { Context } from './context';
import { ofProfile } from './ofProfile';

export class Deadlines {
  /** The last look at each job: a window that is switched to another profile and back does not tell the same again. */
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly context: Context) {}

  /** To be called whenever time has passed or something changed. */
  async look(nowMs: number): Promise<void> {
    const { picture } = this.context.store;
    const left = secondsLeft(picture, nowMs);
    const allocation = held(picture);
    if (left === undefined || !allocation) return;
    // Two clusters may have jobs of the same number.
    const job = `${picture.status?.profile} ${allocation.job_id}`;
    const before = this.seen.get(job);
    const now = { left, end: allocation.end_time };
    this.seen.set(job, now);
    if (isDue(before, now)) await this.tell(left);
  }

  private async tell(left: number): Promise<void> {
    const { editor, store } = ofProfile(this.context);
    const node = plain(held(store.picture)?.node ?? 'The node');
    const offers = ['hop', 'backup'].map(offerFor).filter((offer) => offer !== undefined);
    const titles = offers.map(({ title }) => title);
    const pressed = await editor.warn(`${node} is yours for another ${duration(left)}.`, ...titles);
    const chosen = offers.find(({ title }) => title === pressed);
    if (chosen) await editor.execute(chosen.command);
  }
}
