// The profile of a window that this one opens: windows remember theirs by folder, and this one writes it down for the other.

import { text } from '../settings';
import type { Place } from '../state/original';
import type { Context } from './context';
import { OF_WINDOW, useHere } from './profile';

/** A window that takes longer to open, or never opened, leaves a note that nobody is to find much later. */
const GOOD_FOR_MS = 5 * 60_000;

interface Note {
  /** Empty for what all windows have. */
  readonly profile: string;
  readonly atMs: number;
}

/** To be called before a folder is opened: its window gets the profile of this one. */
export async function handOver({ editor }: Context, place: Place): Promise<void> {
  const key = keyOf(place);
  // The folder of this window itself: no other one opens.
  if (editor.folders().some((folder) => keyOf(folder) === key)) return;
  const note: Note = { profile: text(editor.recallHere(OF_WINDOW)), atMs: Date.now() };
  await editor.remember(key, note);
}

/** To be called when a window begins, and when it comes to the front: one that was open already is not begun anew. */
export async function takeOver(context: Context): Promise<void> {
  const { editor } = context;
  for (const key of editor.folders().map(keyOf)) {
    const note = editor.recall(key);
    if (!isNote(note)) continue;
    const isOther = note.profile !== text(editor.recallHere(OF_WINDOW));
    // First of all, and at once: the window's first command line has it already.
    if (isOther && Date.now() - note.atMs < GOOD_FOR_MS)
      await useHere(context, note.profile || undefined);
    await editor.remember(key, undefined);
  }
}

function keyOf({ host, path }: Place): string {
  return `profile for ${host ?? 'here'}:${path}`;
}

function isNote(value: unknown): value is Note {
  return typeof value === 'object' && value !== null && 'profile' in value && 'atMs' in value;
}
