// Something that is asked of the CLI when somebody looks at it, and kept until it is out of date.

import { said } from '../flows/context';
import { problemOf } from '../problem';
import type { Row } from './row';

export class Listing<T> {
  private asked: Promise<T> | undefined;

  constructor(private readonly ask: () => Promise<T>) {}

  /** The answer; the question is put once for all who look. */
  get(): Promise<T> {
    const asked = (this.asked ??= this.ask());
    // A question that failed is put again by the next who looks.
    asked.catch(() => (this.asked = undefined));
    return asked;
  }

  forget(): void {
    this.asked = undefined;
  }
}

/** A problem as a row, so that a view says why it is empty. */
export function problemRow(error: unknown): Row {
  const problem = problemOf(error);
  return {
    label: said(problem),
    tooltip: said(problem),
    icon: 'warning',
    tint: 'warning',
    command: 'scratchflow.refresh',
  };
}
