// When to warn that the allocation ends: once at 60, 15 and 5 minutes. Pure.

export const WARN_AT_S = [3600, 900, 300] as const;
export const SHORT_S = 900;

export interface Seen {
  readonly jobId: number | null;
  readonly left: number;
}

/** Whether a limit was passed between two looks at the same allocation. */
export function isDue(before: Seen | undefined, now: Seen): boolean {
  if (before?.jobId !== now.jobId) {
    // A window that opens, or a short allocation that begins: warn only when little time is left.
    return now.left <= SHORT_S;
  }
  return WARN_AT_S.some((limit) => before.left > limit && now.left <= limit);
}
