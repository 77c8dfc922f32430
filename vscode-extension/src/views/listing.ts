// Something that is asked of the CLI when somebody looks at it, and kept until it is out of date.

import { problemText } from '../format/problemText';
import { problemOf } from '../cli/problem';
import type { Row } from './row';

export class Listing<T> {
  private asked: Promise<T> | undefined;
  private isOnItsWay = false;

  constructor(private readonly ask: () => Promise<T>) {}

  /** The answer; the question is put once for all who look. */
  get(): Promise<T> {
    return (this.asked ??= this.put());
  }

  /** Makes sure that the next who looks gets an answer of now; one that is on its way will do. */
  renew(): void {
    if (!this.isOnItsWay) this.forget();
  }

  forget(): void {
    this.asked = undefined;
    this.isOnItsWay = false;
  }

  private put(): Promise<T> {
    const asked = this.ask();
    this.isOnItsWay = true;
    asked.then(
      () => this.settle(asked, asked),
      // A question that failed is put again by the next who looks.
      () => this.settle(asked, undefined),
    );
    return asked;
  }

  /** Unless it is being asked anew already: what comes late is of no use. */
  private settle(asked: Promise<T>, answer: Promise<T> | undefined): void {
    if (this.asked !== asked) return;
    this.asked = answer;
    this.isOnItsWay = false;
  }
}

/** The same for what is dear to ask: whoever looks gets an answer that is at most so old. */
export class Aging<T> {
  private readonly listing: Listing<T>;
  private askedMs = Number.NEGATIVE_INFINITY;

  constructor(
    ask: () => Promise<T>,
    private readonly mostMs: number,
    private readonly now: () => number,
  ) {
    this.listing = new Listing(() => {
      this.askedMs = this.now();
      return ask();
    });
  }

  get(): Promise<T> {
    if (this.now() - this.askedMs >= this.mostMs) this.listing.renew();
    return this.listing.get();
  }

  forget(): void {
    this.listing.forget();
  }
}

/** A problem as a row, so that a view says why it is empty. */
export function problemRow(error: unknown): Row {
  const problem = problemOf(error);
  return {
    label: problemText(problem),
    tooltip: problemText(problem),
    icon: 'warning',
    tint: 'warning',
    command: 'scratchflow.refresh',
  };
}
