// From bytes to events: splits standard output into lines and reads each as JSON. Starts nothing.

import { StringDecoder } from 'node:string_decoder';
import type { AnyEvent } from './protocol';

// A listing of a million changed paths still fits; a program that never ends its line does not.
const LONGEST_LINE = 64 * 1024 * 1024;

export type Line = { event: AnyEvent } | { garbage: string };

/** Collects chunks and hands out whole lines. */
export class LineReader {
  private readonly decoder = new StringDecoder('utf8');
  private parts: string[] = [];
  private length = 0;

  /** The lines that this chunk completed. */
  take(chunk: Buffer): Line[] {
    const pieces = this.decoder.write(chunk).split('\n');
    const rest = pieces.pop() ?? '';
    const whole = pieces.map((piece, index) => (index === 0 ? this.flush() + piece : piece));
    this.keep(rest);
    return whole.filter((line) => line !== '').map(readLine);
  }

  /** What stood there without an end of line. */
  end(): Line[] {
    const rest = this.flush() + this.decoder.end();
    return rest === '' ? [] : [readLine(rest)];
  }

  private keep(rest: string): void {
    this.length += rest.length;
    if (this.length <= LONGEST_LINE) this.parts.push(rest);
  }

  private flush(): string {
    const line = this.parts.join('');
    this.parts = [];
    this.length = 0;
    return line;
  }
}

function readLine(line: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    if (isEvent(value)) return { event: value };
  } catch {
    // Not JSON: handled below, like JSON that is no event.
  }
  return { garbage: line.slice(0, 500) };
}

function isEvent(value: unknown): value is AnyEvent {
  if (typeof value !== 'object' || value === null) return false;
  return 'type' in value && typeof value.type === 'string' && 'v' in value;
}
