// When to warn that the allocation ends: once at 60, 15 and 5 minutes. Pure.

export const WARN_AT_S = [3600, 900, 300] as const;
export const SHORT_S = 900;
/** Two sources may round the end of the same job differently. */
const SAME_END_MS = 60_000;

/** One look at an allocation. */
export interface Seen {
  readonly left: number;
  readonly end: string | null;
}

/** Whether a limit was passed between two looks at the same allocation. */
export function isDue(before: Seen | undefined, now: Seen): boolean {
  const isShort = now.left <= SHORT_S;
  // A window that opens, or a short allocation that begins: warn only when little time is left.
  if (!before) return isShort;
  // It may have got more time, and spent it, while the window showed another profile.
  if (isShort && isExtended(before, now)) return true;
  return WARN_AT_S.some((limit) => before.left > limit && now.left <= limit);
}

function isExtended(before: Seen, now: Seen): boolean {
  return Date.parse(now.end ?? '') - Date.parse(before.end ?? '') > SAME_END_MS;
}
