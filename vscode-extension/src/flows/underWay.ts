// A command that was under way when its window was reloaded or closed: that ends it, and the next window says so.

import type { Op } from '../cli/cli';
import { moment, plain } from '../format/words';
import { phaseOf, type Picture } from '../state/state';
import { offerFor } from '../verbs';
import type { Context } from './context';
import { ofProfile } from './ofProfile';

const NOTE = 'under way';
/** What changes something and can be run again; a request for a node stays in the queue. */
const RUN_AGAIN = new Set<Op>(['backup', 'restore', 'create', 'hop', 'clear', 'up']);

interface Note {
  readonly op: string;
  readonly sinceMs: number;
}

/** Does the work of a command, with a note of it that a reload leaves behind. */
export async function noted<T>(
  { cli, editor }: Pick<Context, 'cli' | 'editor'>,
  op: Op,
  work: () => Promise<T>,
): Promise<T> {
  if (!RUN_AGAIN.has(op)) return work();
  const note: Note = { op, sinceMs: Date.now() };
  await editor.rememberHere(NOTE, note);
  try {
    return await work();
  } finally {
    // The window closes, and ends the command: whoever opens it again is told.
    if (!cli.isClosing) await editor.rememberHere(NOTE, undefined);
  }
}

export class UnderWay {
  /** What the window before this one left. */
  private left: Note | undefined;
  /** What still runs of it. */
  private followed: string | undefined;

  constructor(private readonly context: Context) {
    const note = context.editor.recallHere(NOTE);
    this.left = isNote(note) ? note : undefined;
  }

  /** To be called whenever the picture changed: tells once how it stands, and once that it ended. */
  async look(picture: Picture): Promise<void> {
    const { status, link } = picture;
    if (!status || link.is !== 'watching') return;
    const doing = status.running?.doing;
    if (this.followed !== undefined && doing !== this.followed) await this.tellEnd(this.followed);
    if (this.left !== undefined) await this.tell(this.left, picture);
  }

  private async tell({ op, sinceMs }: Note, picture: Picture): Promise<void> {
    const { editor } = ofProfile(this.context);
    this.left = undefined;
    await editor.rememberHere(NOTE, undefined);
    const offer = offerFor(op);
    // A request that waits says so itself, and is not lost.
    if (!offer || phaseOf(picture) === 'waiting') return;
    const since = moment(new Date(sinceMs).toISOString(), Date.now());
    const running = picture.status?.running;
    if (running) {
      this.followed = running.doing;
      const what = `scratchflow ${plain(running.doing)} is still at work on ${plain(running.host)}`;
      await editor.inform(`${offer.title}, begun ${since}: ${what}.`);
      return;
    }
    const message = `${offer.title}, begun ${since}, was interrupted when this window was closed or reloaded.`;
    const pressed = await editor.warn(message, offer.title);
    if (pressed === offer.title) await editor.execute(offer.command);
  }

  private async tellEnd(doing: string): Promise<void> {
    this.followed = undefined;
    await this.context.editor.inform(`scratchflow ${plain(doing)} has ended.`);
  }
}

function isNote(value: unknown): value is Note {
  return typeof value === 'object' && value !== null && 'op' in value && 'sinceMs' in value;
}
