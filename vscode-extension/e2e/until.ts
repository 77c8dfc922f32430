// Waiting for something to become true, with a deadline.

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
