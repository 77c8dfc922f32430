// When a list that changes by itself is asked for again: only while somebody sees it, and seldom.

const EVERY_MS = 30_000;

export interface Polled {
  /** Has the list asked for again; `answered` is called when it is there. */
  readonly ask: () => void;
  readonly now: () => number;
}

export class Poll {
  private timer: NodeJS.Timeout | undefined;
  private answeredMs: number | undefined;
  private mayChange = false;
  private isSeen = false;

  constructor(private readonly polled: Polled) {}

  /** An answer came: whether it may be another one soon. */
  answered(mayChange: boolean): void {
    this.answeredMs = this.polled.now();
    this.mayChange = mayChange;
    this.plan();
  }

  /** None came. Asking again is of use only where it may help. */
  failed(isWorthAnother: boolean): void {
    this.answered(this.mayChange && isWorthAnother);
  }

  /** The list came into sight or went out of it: an old answer is asked for again at once. */
  look(isSeen: boolean): void {
    if (isSeen === this.isSeen) return;
    this.isSeen = isSeen;
    clearTimeout(this.timer);
    if (!isSeen || this.answeredMs === undefined) return;
    if (this.leftMs(this.answeredMs) <= 0) this.polled.ask();
    else this.plan();
  }

  stop(): void {
    this.look(false);
  }

  private plan(): void {
    clearTimeout(this.timer);
    if (!this.isSeen || !this.mayChange || this.answeredMs === undefined) return;
    this.timer = setTimeout(() => this.polled.ask(), Math.max(0, this.leftMs(this.answeredMs)));
  }

  private leftMs(answeredMs: number): number {
    return answeredMs + EVERY_MS - this.polled.now();
  }
}
