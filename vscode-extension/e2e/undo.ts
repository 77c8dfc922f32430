// What was started, ended again in the opposite order, also when the start stopped half way.

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
