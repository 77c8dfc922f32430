// What all clusters said, and when they are asked again: when somebody opens the view or wants to know, never by itself.

import type { StatusOfAll } from '../cli/protocol';
import { clusterRows } from './clusters';
import { problemRow } from './listing';
import type { Row } from './row';

/** Whoever closes the view and opens it again within this time sees the same answer. */
const FRESH_MS = 60_000;
const ASKING: Row = { label: 'Asking the clusters…', icon: 'sync~spin' };

export interface Asking {
  readonly ask: () => Promise<StatusOfAll>;
  /** An answer came: the rows are others than before. */
  readonly changed: () => void;
  readonly now: () => number;
}

export class Everywhere {
  private shown: ((own: string) => readonly Row[]) | undefined;
  private answeredMs: number | undefined;
  private isStale = true;
  private isOnItsWay = false;

  constructor(private readonly asking: Asking) {}

  /** When the last answer came. */
  get asOfMs(): number | undefined {
    return this.answeredMs;
  }

  /** What is known; the earlier answer while another one is on its way. */
  rows(own: string): readonly Row[] {
    if (this.isStale && !this.isOnItsWay) void this.look();
    return this.shown?.(own) ?? [ASKING];
  }

  /** The next who looks has them asked; an answer that is on its way will do. */
  renew(): void {
    this.isStale = true;
  }

  /** The view came into sight: whether what is known is too old for that. */
  isOld(): boolean {
    return this.answeredMs === undefined || this.asking.now() - this.answeredMs >= FRESH_MS;
  }

  /** A failure is shown like an answer: asking again by itself would go on for ever. */
  private async look(): Promise<void> {
    this.isOnItsWay = true;
    try {
      const found = await this.asking.ask();
      this.shown = (own) => clusterRows(found, own);
    } catch (error) {
      this.shown = () => [problemRow(error)];
    }
    this.isOnItsWay = this.isStale = false;
    this.answeredMs = this.asking.now();
    this.asking.changed();
  }
}
