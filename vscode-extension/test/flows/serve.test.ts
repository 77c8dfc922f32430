import { expect, test } from 'vitest';
import * as serving from '../../src/flows/serve';
import { answering, failure, type Play } from '../fakeCli';
import { lab } from './lab';

const URL = 'http://127.0.0.1:8888/lab?token=secret';
const server = { name: 'jupyter', kind: 'jupyter', node: 'node-1' };
const tunnel = { name: 'port-8888', local_port: 8889, to: 'port 8888' };
const PLAY: Play = {
  serve: answering({ server, url: URL, changed: true, opened: true }),
  'serve stop': answering({ stopped: ['jupyter'], tunnels: [] }),
  tunnel: answering({ tunnel, url: URL, changed: false, opened: true }),
};
const JUPYTER = { name: 'jupyter', isServer: true };

test('Open Jupyter starts it, and the CLI opens the browser', async () => {
  const { context, editor, argvs, log } = lab(PLAY, { 'jupyter runs on node-1': 'Copy URL' });
  await serving.openJupyter(context);
  expect(argvs()).toEqual(['serve jupyter --open']);
  expect(editor.seen.slice(-3)).toEqual([
    'reconnect',
    'info: jupyter runs on node-1 and is open in your browser. | Copy URL',
    `copied: ${URL}`,
  ]);
  expect(log.join('\n')).not.toContain('secret');
});

test('Open TensorBoard asks for the logs, and knows them the next time', async () => {
  const { context, editor, argvs } = lab(PLAY, { 'Open TensorBoard': '-odd' });
  await serving.openTensorboard(context);
  expect(argvs()).toEqual(['serve tensorboard ./-odd --open']);
  expect(editor.memory.get('tensorboard.logs')).toBe('-odd');
});

test('Open TensorBoard without an answer does nothing', async () => {
  const { context, argvs } = lab(PLAY);
  await serving.openTensorboard(context);
  expect(argvs()).toEqual([]);
});

test('Forward Port says which port leads where, and opens it on request', async () => {
  const { context, editor, argvs } = lab(PLAY, { 'Forward Port': '8888', 'Port 8889': 'Open' });
  await serving.forwardPort(context);
  expect(argvs()).toEqual(['tunnel 8888', 'tunnel port-8888 --open']);
  expect(editor.seen).toContain(
    'info: Port 8889 of this machine leads to port 8888 of the node. | Open | Copy URL',
  );
});

test.each(['', 'abc', '8888:', '--all'])('Forward Port refuses %s', async (typed) => {
  const { context, editor, argvs } = lab(PLAY, { 'Forward Port': typed });
  await serving.forwardPort(context);
  expect(editor.seen.at(-1)).toContain('invalid: ');
  expect(argvs()).toEqual([]);
});

test('Copy URL puts the address with its token on the clipboard, and into no message', async () => {
  const { context, editor, argvs } = lab(PLAY);
  await serving.copyService(context, JUPYTER);
  expect(argvs()).toEqual(['tunnel jupyter']);
  expect(editor.seen).toContain(`copied: ${URL}`);
  expect(editor.seen.filter((line) => line.includes('secret'))).toHaveLength(1);
});

test('without a browser the address can be copied', async () => {
  const play = { tunnel: answering({ tunnel, url: URL, changed: true, opened: false }) };
  const { context, editor } = lab(play, { 'No browser': 'Copy URL' });
  await serving.openService(context, JUPYTER);
  expect(editor.seen.slice(-2)).toEqual([
    'info: No browser could be opened. | Copy URL',
    `copied: ${URL}`,
  ]);
});

test('Stop asks about a server, and not about a tunnel', async () => {
  const no = lab(PLAY);
  await serving.stopService(no.context, JUPYTER);
  expect(no.argvs()).toEqual([]);
  const yes = lab(PLAY, { 'Stop jupyter?': true });
  await serving.stopService(yes.context, JUPYTER);
  await serving.stopService(yes.context, { name: 'port-8888', isServer: false });
  expect(yes.argvs()).toEqual(['serve stop jupyter', 'serve stop port-8888']);
  expect(yes.editor.seen.at(-1)).toBe('reconnect');
});

test('what is not installed reaches the user as the CLI says it', async () => {
  const { context } = lab({
    serve: { steps: [{ hello: true }, failure('serve.not_installed', 'JupyterLab is missing')] },
  });
  await expect(serving.openJupyter(context)).rejects.toThrow('JupyterLab is missing');
});
