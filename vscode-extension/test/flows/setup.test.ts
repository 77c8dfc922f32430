import { expect, test } from 'vitest';
import { setup } from '../../src/flows/setup';
import { answering, failure, fakeCli } from '../fakeCli';
import { lab } from './lab';

const DONE = {
  ...{ profile: 'login', login: 'login', reached_by: 'openssh', agent: '/a', python: '/p' },
  ...{ config_diff: '+[profiles.login]', ssh_config_diff: '+Include', checks: [] },
};
const ANSWERS = {
  'Set Up Cluster (1': 'login',
  'Set Up Cluster (2': '/fsx/$USER/s',
  'Set Up Cluster (3': 'debug',
};
const HOSTS = 'setup --list-hosts';
const FOUND = 'setup --list-hosts login';
const ARGS = 'setup login --store /fsx/$USER/s --partition debug';

test('shows every change before it makes it', async () => {
  const sure = { ...ANSWERS, 'Set up login as': 'Set Up' };
  const { context, editor, argvs } = lab({ setup: answering(DONE) }, sure);
  await setup(context);
  expect(argvs()).toEqual([HOSTS, FOUND, `${ARGS} --dry-run`, `${ARGS} --yes`]);
  const shown = editor.seen.findIndex((line) => line.startsWith('text: Changes by Set Up Cluster'));
  expect(editor.seen[shown]).toMatch(/\n\+\[profiles\.login\]\n\+Include\n\n# scratchflow also/);
  // Not in a dialog, which would cover what it asks about.
  expect(editor.seen[shown + 1]).toBe('pick: Set up login as profile “login”?');
  expect(editor.seen.at(-1)).toBe('info: login is ready to use. | Allocate Compute Node');
});

test('without a store the one that the cluster offers is proposed, with the reason', async () => {
  const values = [
    { key: 'store', value: '/fsx/$USER/s', reason: 'shared, 2 TiB free' },
    { key: 'alias', value: 'compile_machine', reason: 'the usual one' },
  ];
  const answers = { ...ANSWERS, 'Set Up Cluster (2': '', 'Set Up Cluster (3': '' };
  const { context, editor, argvs } = lab({ setup: answering({ ...DONE, values }) }, answers);
  await setup(context);
  expect(argvs()).toEqual([HOSTS, FOUND, 'setup login --dry-run']);
  const text = editor.seen.find((line) => line.startsWith('text: '));
  expect(text).toContain('\n# store = /fsx/$USER/s: shared, 2 TiB free\n+[profiles.login]');
});

test('never names the profile of the window, which would be changed', async () => {
  const { context } = lab({}, { ...ANSWERS, 'Set up login as': 'Set Up' });
  const own = fakeCli({ setup: answering(DONE) }, { globalArgs: () => ['--profile', 'local'] });
  await setup({ ...context, cli: own.cli });
  const argvs = own.calls().map(({ argv = [] }) => argv.join(' '));
  expect(argvs.at(-1)).toBe(`${ARGS} --yes --json`);
  expect(argvs.filter((argv) => argv.includes('--profile'))).toEqual([]);
});

test('changes nothing without a yes', async () => {
  const { context, argvs } = lab({ setup: answering(DONE) }, ANSWERS);
  await setup(context);
  expect(argvs()).toEqual([HOSTS, FOUND, `${ARGS} --dry-run`]);
});

test('offers the hosts that ssh knows, and takes another one', async () => {
  const play = { setup: answering({ hosts: ['uni', 'lab'] }) };
  const { context, editor, argvs } = lab(play);
  await setup(context);
  expect(editor.picked.map(({ label }) => label)).toEqual(['uni', 'lab']);
  expect(argvs()).toEqual([HOSTS]);
});

test('says which checks failed and what mends them', async () => {
  const checks = [
    { name: 'store', ok: false, detail: 'cannot be written', fix: 'mkdir it' },
    { name: 'login', ok: true, detail: 'fine', fix: '' },
  ];
  const sure = { ...ANSWERS, 'Set up login as': 'Set Up' };
  const { context, editor } = lab({ setup: answering({ ...DONE, checks }) }, sure);
  await setup(context);
  expect(editor.seen.at(-1)).toContain('store: cannot be written; mkdir it');
});

test.each(['-oProxyCommand=evil', '', 'two words'])('takes no host like %j', async (login) => {
  const { context, argvs } = lab({ setup: answering(DONE) }, { 'Set Up Cluster (1': login });
  await setup(context);
  expect(argvs()).toEqual([HOSTS]);
});

test.each([
  [0, [HOSTS, FOUND, `${ARGS} --dry-run`, `${ARGS} --dry-run`]],
  [12, [HOSTS, FOUND, `${ARGS} --dry-run`]],
])('a host that asks is asked in a terminal, which ends with %s', async (code, expected) => {
  const hint = 'run `scratchflow status` in a terminal, then try again';
  const refused = { steps: [{ hello: true }, failure('auth.needed', 'Log in', hint, true)] };
  const { context, editor, argvs } = lab(
    { [HOSTS]: answering({ hosts: ['login'] }), setup: refused },
    ANSWERS,
  );
  editor.exitCodes = [code];
  await expect(setup(context)).rejects.toThrow(); // this one asks again and again
  expect(editor.seen.filter((line) => line.startsWith('terminal'))).toEqual([
    `terminal: scratchflow: log in: ${ARGS} --dry-run`,
  ]);
  expect(argvs()).toEqual(expected);
});

const away = (code: string) => ({
  steps: [{ hello: true }, failure(code, 'cannot find a host named `nonesuch`', 'hosts: login')],
});
const NOT_FOUND =
  'error: Cannot find a host named `nonesuch`. Hosts: login. | Choose Another Host | Show Log';

test('a host that does not exist is told before anything else is asked', async () => {
  const answers = { ...ANSWERS, 'Set Up Cluster (1': 'nonesuch' };
  const { context, editor } = lab({ setup: away('connection.no_such_host') }, answers);
  await setup(context);
  expect(editor.seen.filter((line) => line.startsWith('ask'))).toEqual([]);
  expect(editor.seen.at(-1)).toBe(NOT_FOUND);
});

test('Choose Another Host begins anew, and keeps the answers', async () => {
  const hosts = answering({ hosts: ['login', 'lost'] });
  const play = { [HOSTS]: hosts, 'setup lost': away('connection.lost'), setup: answering(DONE) };
  const chosen = ['lost', 'login'];
  const { context, editor, argvs } = lab(play, {
    ...ANSWERS,
    get 'Set Up Cluster (1'() {
      return chosen.shift();
    },
    'Cannot find': 'Choose Another Host',
  });
  await setup(context);
  expect(editor.values.slice(-2)).toEqual(['/fsx/$USER/s', 'debug']);
  // The host that did not answer, to be corrected or tried once more.
  expect(editor.begun.slice(0, 2)).toEqual(['', 'lost']);
  expect(argvs().at(-1)).toBe(`${ARGS} --dry-run`);
});
