// Tells that the allocation is about to end, with what can be done about it.

import { isDue, type Seen } from '../state/deadline';
import { held, secondsLeft } from '../state/state';
import { offerFor } from '../verbs';
import { duration, plain } from '../format/words';
import type { Context } from './context';
import { ofProfile } from './ofProfile';

export class Deadlines {
  private before: Seen | undefined;

  constructor(private readonly context: Context) {}

  /** To be called whenever time has passed or something changed. */
  async look(nowMs: number): Promise<void> {
    const { picture } = this.context.store;
    const left = secondsLeft(picture, nowMs);
    if (left === undefined) {
      this.before = undefined;
      return;
    }
    const now = { jobId: held(picture)?.job_id ?? null, left };
    const isTimeToTell = isDue(this.before, now);
    this.before = now;
    if (isTimeToTell) await this.tell(left);
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
