import { beforeEach, expect, test, vi } from 'vitest';
import { dashboard } from '../../src/dashboard/model';
import { node } from '../nodes';
import { NOW, seeing, SERVING } from '../pictures';

/** As much of an element as the page uses. */
class Part {
  id = '';
  className = '';
  title = '';
  textContent = '';
  readonly style: Record<string, string> = {};
  readonly attributes: Record<string, string | number> = {};
  children: (Part | string)[] = [];

  constructor(
    readonly tag: string,
    private readonly page: Page,
  ) {}

  append = (...more: (Part | string)[]) => void this.children.push(...more);
  replaceChildren(...parts: Part[]): void {
    // What is taken out of a document loses the focus.
    this.page.activeElement = this;
    this.children = parts;
  }
  setAttribute = (name: string, value: string) => void (this.attributes[name] = value);
  addEventListener = () => undefined;
  focus = () => void (this.page.activeElement = this);

  all(): Part[] {
    return this.children.flatMap((one) => (one instanceof Part ? [one, ...one.all()] : []));
  }
}

class Page {
  readonly body: Part = new Part('body', this);
  activeElement: Part = this.body;
  createElement = (tag: string) => new Part(tag, this);
  createElementNS = (_: string, tag: string) => new Part(tag, this);
  createTextNode = (text: string) => text;
  getElementById = (id: string) => this.body.all().find((one) => one.id === id) ?? null;
}

const snapshot = {
  ...({
    id: 'a',
    time: '2026-11-15T10:00:00Z',
    kind: 'full',
    parent: null,
    node: 'node-1',
  } as const),
  ...{ files: 1, bytes: 1, stored_bytes: 1, verified: true, message: '', damaged: null },
};
const shown = dashboard({
  ...{ picture: seeing(SERVING), snapshots: [snapshot], nodes: [node('a')], nowMs: NOW },
});

let page: Page;
let draw: () => void;

beforeEach(async () => {
  page = new Page();
  vi.stubGlobal('document', page);
  vi.stubGlobal('acquireVsCodeApi', () => ({ postMessage: () => undefined }));
  vi.stubGlobal('window', {
    addEventListener: (_: string, listen: (message: unknown) => void) => {
      draw = () => listen({ data: shown });
    },
  });
  vi.resetModules();
  await import('../../src/dashboard/page');
  draw();
});

test.each(['run backup', 'service stop jupyter'])(
  'whoever is at “%s” with the keyboard stays there when the page is drawn anew',
  (id) => {
    const before = page.getElementById(id);
    before?.focus();
    draw();
    expect(page.activeElement.id).toBe(id);
    expect(page.activeElement).not.toBe(before);
  },
);

test('bars and boxes are read out one by one', () => {
  const items = page.body.all().filter(({ attributes }) => attributes.role === 'listitem');
  expect(items.map(({ tag }) => tag)).toEqual(['rect', 'div']);
  expect(items.every(({ attributes }) => Boolean(attributes['aria-label']))).toBe(true);
});

test('the bar of the time left is read out as what it says', () => {
  const [bar] = page.body.all().filter(({ attributes }) => attributes.role === 'img');
  expect(bar?.attributes['aria-label']).toMatch(/^3 h left, until /);
});

test('what can be done comes first', () => {
  const buttons = page.body.all().filter(({ tag }) => tag === 'button');
  expect(buttons[0]?.id).toBe('run backup');
  const [first] = page.body.children;
  expect(first instanceof Part && first.all().includes(buttons[0] as Part)).toBe(true);
});
