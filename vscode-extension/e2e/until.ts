// Waiting for something to become true, with a deadline; trying again, with a limit.

export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 60_000,
): Promise<number> {
  const startedMs = Date.now();
  while (!(await isTrue())) {
    if (Date.now() - startedMs > deadlineMs)
      throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  return Date.now() - startedMs;
}

/** Does it up to three times: for what the workbench may take from under one's hands. */
export async function insist(attempt: () => Promise<void>, left = 2): Promise<void> {
  try {
    await attempt();
  } catch (error) {
    if (left === 0) throw error;
    await insist(attempt, left - 1);
  }
}
