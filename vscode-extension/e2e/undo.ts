// What was started, ended again in the opposite order, also when the start stopped half way.

/** Waits for starts that wait for nothing of each other. One that fails is told when the others are done: to be undone, too. */
export async function together(...starts: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(starts)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

export class Undo {
  private readonly steps: (() => Promise<void>)[] = [];

  /** To be called before the start that it undoes. */
  later(step: () => Promise<void>): void {
    this.steps.push(step);
  }

  async all(): Promise<void> {
    for (const step of this.steps.reverse()) await step();
  }
}
