// Runs inside the dashboard's webview: draws what it is sent. Text goes in as text, never as markup.

import type { Service } from '../format/serviceText';
import type { Bar, Cell, Dashboard, Day, Fact, Mark } from './model';

declare function acquireVsCodeApi(): { postMessage: (message: unknown) => void };

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 600;
const HEIGHT = 90;
const MARK_WIDTH = 6;

const api = acquireVsCodeApi();

window.addEventListener('message', (message: MessageEvent<Dashboard>) => draw(message.data));
api.postMessage({ type: 'ready' });

function draw(shown: Dashboard): void {
  const now = [
    ...(shown.timeLeft ? [section('Time left', timeLeft(shown.timeLeft))] : []),
    ...(shown.facts.length > 0 ? [section('Now', facts(shown.facts))] : []),
  ];
  const parts = [
    element('header', '', '', element('h1', '', shown.headline), buttons(shown)),
    element('div', 'columns', '', ...now),
    ...(shown.services.length > 0 ? [section('Services', services(shown.services))] : []),
    section('Snapshots', ...snapshots(shown)),
    ...(shown.hasCluster ? [section('Nodes', ...nodes(shown))] : []),
  ];
  const focused = document.activeElement?.id ?? '';
  document.body.replaceChildren(...parts);
  // Everything is drawn anew: whoever works with the keyboard stays where they were.
  if (focused !== '') document.getElementById(focused)?.focus({ preventScroll: true });
}

function element(tag: string, className: string, text = '', ...children: Node[]): HTMLElement {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  made.append(...(text === '' ? [] : [text]), ...children);
  return made;
}

function section(title: string, ...children: Node[]): HTMLElement {
  return element('section', '', '', element('h2', '', title), ...children);
}

function timeLeft(bar: Bar): HTMLElement {
  const fill = element('div', `fill ${bar.tint}`);
  fill.style.width = `${Math.round(bar.share * 100)}%`;
  const whole = element('div', 'bar', '', fill);
  whole.setAttribute('role', 'img');
  whole.setAttribute('aria-label', bar.label);
  return element('div', '', '', whole, element('p', '', bar.label));
}

function facts(list: readonly Fact[]): HTMLElement {
  const rows = list.flatMap(({ name, value, tint }) => [
    element('dt', '', name),
    element('dd', tint, value),
  ]);
  return element('dl', '', '', ...rows);
}

function services(list: readonly Service[]): HTMLElement {
  return element('ul', 'services', '', ...list.map(service));
}

function service({ name, text, tint, isRunning }: Service): HTMLElement {
  const made = (isRunning ? ['open', 'copy', 'stop'] : ['stop']).map((what) => {
    const button = element('button', '', SERVICE_BUTTONS[what] ?? what);
    button.id = `service ${what} ${name}`;
    button.setAttribute('aria-label', `${SERVICE_BUTTONS[what] ?? what} ${name}`);
    button.addEventListener('click', () => api.postMessage({ type: 'service', what, name }));
    return button;
  });
  const words = element(
    'span',
    tint,
    '',
    element('b', '', name),
    document.createTextNode(` ${text}`),
  );
  return element('li', '', '', words, element('span', 'actions', '', ...made));
}

const SERVICE_BUTTONS: Record<string, string> = { open: 'Open', copy: 'Copy URL', stop: 'Stop' };

function snapshots({ timeline, snapshotsText }: Dashboard): Node[] {
  const text = element('p', '', snapshotsText);
  if (timeline.marks.length === 0) return [text];
  const ends = element('div', 'ends', '', element('span', '', timeline.from));
  if (timeline.marks.length > 1) ends.append(element('span', '', timeline.to));
  const legend = element('p', 'legend', timeline.legend);
  return [text, chart(timeline.marks, timeline.days), ends, legend];
}

function chart(marks: readonly Mark[], days: readonly Day[]): SVGElement {
  const svg = drawn('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT + 2}`,
    class: 'timeline',
    // A picture would hide its parts from screen readers; in a list, each is read out.
    role: 'list',
    'aria-label': `${marks.length} snapshots over time`,
  });
  svg.append(...days.flatMap(dayOf));
  svg.append(drawn('line', { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: 'axis' }));
  svg.append(...marks.map(markOf));
  return svg;
}

/** A line where a day begins, and its name. Each mark says its own time, so screen readers miss nothing. */
function dayOf({ x, label }: Day): SVGElement[] {
  const at = x * WIDTH;
  const line = drawn('line', { x1: at, x2: at, y1: 0, y2: HEIGHT, class: 'day' });
  const name = drawn('text', { x: at + 4, y: 9, class: 'day', 'aria-hidden': 'true' });
  name.textContent = label;
  return [line, name];
}

function markOf(mark: Mark): SVGElement {
  const height = mark.height * (HEIGHT - 4);
  const rect = drawn('rect', {
    x: mark.x * (WIDTH - MARK_WIDTH - 2) + 1,
    y: HEIGHT - height,
    width: MARK_WIDTH,
    height,
    class: `mark ${mark.tint} ${mark.isFull ? 'full' : 'part'}`,
    role: 'listitem',
    'aria-label': mark.label,
  });
  rect.append(title(mark.label));
  return rect;
}

function title(text: string): SVGElement {
  const made = drawn('title', {});
  made.textContent = text;
  return made;
}

function drawn(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

function nodes({ cells, nodesText, nodesLegend }: Dashboard): Node[] {
  const text = element('p', '', nodesText);
  if (cells.length === 0) return [text];
  const strip = element('div', 'strip', '', ...cells.map(cell));
  strip.setAttribute('role', 'list');
  strip.setAttribute('aria-label', 'What is free on each node');
  return [text, strip, element('p', 'legend', nodesLegend)];
}

function cell({ name, text, more, free, isAvailable, isWarm, label }: Cell): HTMLElement {
  const fill = element('div', 'fill good');
  fill.style.height = `${Math.round(free * 100)}%`;
  const box = element('div', isAvailable ? 'box' : 'box gone', '', ...(isAvailable ? [fill] : []));
  const whole = element(
    'div',
    'cell',
    '',
    box,
    element('span', '', isWarm ? `${name} (warm)` : name),
    element('span', 'number', text),
    ...(more === '' ? [] : [element('span', 'legend', more)]),
  );
  whole.title = label;
  whole.setAttribute('role', 'listitem');
  whole.setAttribute('aria-label', label);
  return whole;
}

function buttons({ hasCluster, canStart }: Dashboard): HTMLElement {
  const first = canStart ? 'up' : 'backup';
  const names = [first, ...(hasCluster ? ['nodes'] : []), 'snapshots', 'refresh'];
  const made = names.map((name) => {
    const button = element('button', name === first ? 'primary' : '', BUTTONS[name] ?? name);
    button.id = `run ${name}`;
    button.addEventListener('click', () => api.postMessage({ type: 'run', name }));
    return button;
  });
  return element('div', 'buttons', '', ...made);
}

const BUTTONS: Record<string, string> = {
  up: 'Start Working',
  backup: 'Run Backup',
  nodes: 'Show Nodes',
  snapshots: 'Browse Snapshots',
  refresh: 'Refresh',
};
