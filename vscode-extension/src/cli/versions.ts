// Which CLI this extension can talk to, judged by its first line.

import { CLI_VERSION, PROTOCOL_VERSION, type Hello } from './protocol';
import { tooNew, tooOld, type Problem } from './problem';

/** The oldest CLI that knows every command of this extension: the one it was built with. */
export const OLDEST_CLI = CLI_VERSION;

/** What is wrong with this CLI, or nothing. */
export function judge(hello: Hello): Problem | undefined {
  const spoken: number = hello.v;
  if (spoken > PROTOCOL_VERSION) return tooNew(hello.version);
  if (spoken < PROTOCOL_VERSION || isBefore(hello.version, OLDEST_CLI)) {
    return tooOld(hello.version, OLDEST_CLI);
  }
  return undefined;
}

/** Compares the numbers of two versions; what follows them (`rc1`, `.dev0`) makes no difference. */
export function isBefore(version: string, other: string): boolean {
  const left = numbers(version);
  const right = numbers(other);
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function numbers(version: string): number[] {
  return (/^\d+(\.\d+)*/.exec(version)?.[0] ?? '').split('.').map(Number);
}
