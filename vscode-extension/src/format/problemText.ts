// A problem as text for a message, a row or a tooltip. Pure.

import type { Problem } from '../cli/problem';
import { capital, plain } from './words';

/** A problem as one text: what happened, then what to do. */
export function problemText({ message, hint }: Problem): string {
  return hint === '' ? sentence(message) : `${sentence(message)} ${sentence(hint)}`;
}

export function sentence(text: string): string {
  const shown = capital(plain(text));
  return /[.!?…]$/.test(shown) ? shown : `${shown}.`;
}
