// Open TensorBoard, Open Jupyter, Forward Port, and what can be done with what runs. The CLI opens the browser:
// in a window of the node the editor would look for the address there, where somebody else may answer.

import type { Serving, TunnelOpened } from '../cli/protocol';
import { plain } from '../format/words';
import { runWithProgress, type Context } from './context';

/** A server on the node or a local port that leads there, by its name. */
export interface ServiceRef {
  readonly name: string;
  readonly isServer: boolean;
}

const OPEN = 'Open';
const COPY = 'Copy URL';
const LOGS = 'tensorboard.logs';

export async function openTensorboard(context: Context): Promise<void> {
  const { editor } = context;
  const before = editor.recall(LOGS);
  const logs = await editor.ask({
    title: 'Open TensorBoard',
    prompt: 'The directory with its logs, in the workspace',
    value: typeof before === 'string' ? before : 'runs',
    check: (answer) => (answer === '' ? 'Name a directory; `.` is the workspace.' : undefined),
  });
  if (logs === undefined) return;
  // A name that begins with a dash would be read as an option.
  const args = ['tensorboard', logs.startsWith('-') ? `./${logs}` : logs, '--open'];
  await start(context, 'Starting TensorBoard', args);
  await editor.remember(LOGS, logs);
}

export function openJupyter(context: Context): Promise<void> {
  return start(context, 'Starting JupyterLab', ['jupyter', '--open']);
}

async function start(context: Context, title: string, args: string[]): Promise<void> {
  const { data } = await runWithProgress(context, 'serve', { title, args });
  context.reconnect();
  await tellServing(context, data);
}

async function tellServing(context: Context, { server, url = '', opened }: Serving): Promise<void> {
  const where = `${plain(server.name)} runs on ${plain(server.node)}`;
  await tellOpened(context, opened ? `${where} and is open in your browser.` : `${where}.`, url);
}

/** The address has a token in it: it goes to the clipboard, and not into a message. */
async function tellOpened({ editor }: Context, message: string, url: string): Promise<void> {
  if ((await editor.inform(message, COPY)) === COPY) await editor.copy(url);
}

const PORT = /^(\d{1,5})(:\d{1,5})?$/;

export async function forwardPort(context: Context): Promise<void> {
  const { editor } = context;
  const to = await editor.ask({
    title: 'Forward Port',
    prompt: 'A port of the node, or PORT:LOCAL for another port of this machine',
    placeholder: '8888',
    check: (answer) => (PORT.test(answer) ? undefined : 'A number, or two: 8888 or 8888:9999'),
  });
  if (to === undefined) return;
  const { data } = await reach(context, `Opening a tunnel to port ${to}`, [to]);
  context.reconnect();
  await offer(context, data);
}

async function offer(context: Context, { tunnel, url = '' }: TunnelOpened): Promise<void> {
  const { editor } = context;
  const message = `Port ${tunnel.local_port} of this machine leads to ${plain(tunnel.to)} of the node.`;
  const pressed = await editor.inform(message, OPEN, COPY);
  if (pressed === COPY) await editor.copy(url);
  if (pressed === OPEN) await openService(context, { name: tunnel.name, isServer: false });
}

function reach(context: Context, title: string, args: string[]) {
  return runWithProgress(context, 'tunnel', { title, args });
}

export async function openService(context: Context, { name }: ServiceRef): Promise<void> {
  const { data } = await reach(context, `Opening ${plain(name)}`, [name, '--open']);
  if (data.changed !== false) context.reconnect();
  if (data.opened) return;
  await tellOpened(context, 'No browser could be opened.', data.url ?? '');
}

export async function copyService(context: Context, { name }: ServiceRef): Promise<void> {
  const { data } = await reach(context, `Looking up ${plain(name)}`, [name]);
  if (data.changed !== false) context.reconnect();
  await context.editor.copy(data.url ?? '');
  await context.editor.inform(`The address of ${plain(name)} is on the clipboard.`);
}

export async function stopService(context: Context, ref: ServiceRef): Promise<void> {
  const name = plain(ref.name);
  const detail = 'What it holds in memory is gone; files stay.';
  if (ref.isServer && !(await context.editor.confirm(`Stop ${name}?`, detail, 'Stop'))) return;
  await runWithProgress(context, 'serve stop', { title: `Stopping ${name}`, args: [ref.name] });
  context.reconnect();
}
