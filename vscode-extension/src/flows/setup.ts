// Set Up Cluster: ask for the login host, show what would change, then do it.

import { needsLogin, problemOf } from '../cli/problem';
import type { ClusterSetUp } from '../cli/protocol';
import { plain } from '../format/words';
import { runWithProgress, tellProblem, type Context } from './context';

interface Answers {
  readonly login: string;
  readonly store: string;
  readonly partition: string;
}

export function setup(context: Context): Promise<void> {
  return setUp(context, { login: '', store: '', partition: '' });
}

/** `before` are answers that were given already: they are asked for once more, and can be taken with Enter. */
async function setUp(context: Context, before: Answers): Promise<void> {
  const login = await askLogin(context, before.login);
  if (login === undefined) return;
  let known = { ...before, login };
  try {
    await findHost(context, login);
    const answers = await askMore(context, known);
    if (!answers) return;
    known = answers;
    await agreeAndSetUp(context, answers);
  } catch (error) {
    const problem = problemOf(error);
    if (!ABOUT_HOST.test(problem.code)) throw error;
    const take = () => setUp(context, known);
    await tellProblem(context, problem, take, { label: ANOTHER_HOST, take });
  }
}

/** The profile of the window is another one than that of the new cluster: named, it would be changed. */
const NEW = { withoutProfile: true };
const ANOTHER_HOST = 'Choose Another Host';
/** The families of errors that another host, or the same one at another time, does not have. */
const ABOUT_HOST = /^(connection|host_key)\./;

/** A name that leads nowhere is told before anything else is asked. */
async function findHost(context: Context, login: string): Promise<void> {
  const title = `Looking for ${plain(login)}`;
  await runWithProgress(context, 'setup --list-hosts', { ...NEW, title, args: [login] });
}

async function agreeAndSetUp(context: Context, answers: Answers): Promise<void> {
  if (!(await confirmChanges(context, answers))) return;
  const { data } = await runWithProgress(context, 'setup', {
    ...NEW,
    title: `Setting up ${plain(answers.login)}`,
    args: [...argumentsOf(answers), '--yes'],
  });
  context.reconnect();
  await tellChecks(context, data);
}

const TITLE = 'Set Up Cluster';

async function askMore({ editor }: Context, before: Answers): Promise<Answers | undefined> {
  const store = await editor.ask({
    title: `${TITLE} (2 of 3): store`,
    prompt:
      'Where backups go: a directory on the cluster’s shared storage. Empty: what is found there',
    placeholder: '/fsx/users/$USER/scratchflow',
    value: before.store,
    check: (answer) =>
      /^([/~$]|$)/.test(answer) ? undefined : 'A path that starts with /, ~ or $',
  });
  if (store === undefined) return undefined;
  const partition = await editor.ask({
    title: `${TITLE} (3 of 3): partition`,
    prompt: 'Slurm’s partition to ask for; empty takes the cluster’s default',
    value: before.partition,
  });
  return partition === undefined ? undefined : { login: before.login, store, partition };
}

/** One of the hosts that ssh knows, or any other. */
async function askLogin({ cli, editor }: Context, before: string): Promise<string | undefined> {
  const hosts = cli
    .run('setup --list-hosts', NEW)
    .then(({ data }) => data.hosts.map((host) => ({ label: plain(host), value: host })))
    // Without a list any host can be typed; why there is none is in the log.
    .catch(() => []);
  const chosen = await editor.pick(hosts, {
    title: `${TITLE} (1 of 3): login host`,
    placeholder: 'The cluster’s login host: pick one of your ssh config, or type user@host',
    stays: true,
    before,
    typed: (answer) =>
      isHost(answer) ? { label: `Use ${plain(answer)}`, value: answer } : undefined,
  });
  return chosen !== undefined && isHost(chosen) ? chosen : undefined;
}

function isHost(answer: string): boolean {
  return /^[^\s-]\S*$/.test(answer);
}

function argumentsOf({ login, store, partition }: Answers): string[] {
  const given = { '--store': store, '--partition': partition };
  return [login, ...Object.entries(given).flatMap(([name, value]) => (value ? [name, value] : []))];
}

/** What would change. A host that asks for a password or a second factor asks in a terminal. */
async function lookAt(context: Context, answers: Answers): Promise<ClusterSetUp> {
  const args = [...argumentsOf(answers), '--dry-run'];
  const look = () =>
    runWithProgress(context, 'setup', {
      ...NEW,
      title: `Looking at ${plain(answers.login)}`,
      args,
    });
  try {
    return (await look()).data;
  } catch (error) {
    if (!needsLogin(problemOf(error))) throw error;
    const line = ['setup', ...args];
    const code = await context.editor.runToEnd('scratchflow: log in', await context.locate(), line);
    if (code !== 0) throw error;
    return (await look()).data;
  }
}

/** As many lines as the list of the question covers. */
const COVERED = ['# What Set Up Cluster changes in your files is below.', '', '', '', '', ''];
const ALSO = [
  '',
  '# scratchflow also puts its agent into your home directory on the cluster.',
  '# `scratchflow setup --remove` takes out agent and ssh alias, and lists what it leaves.',
];

/** Asked beside the changes, not over them: they can be read and scrolled while the question is open. */
async function confirmChanges(context: Context, answers: Answers): Promise<boolean> {
  const { editor } = context;
  const data = await lookAt(context, answers);
  const diffs = [data.config_diff, data.ssh_config_diff].filter((diff) => diff !== '');
  const changes = [...COVERED, ...proposals(data, answers), ...diffs, ...ALSO].join('\n');
  await editor.showText('Changes by Set Up Cluster.diff', changes);
  const choices = [
    { label: 'Set Up', value: true, detail: 'Also puts the agent into your home on the cluster' },
    { label: 'Leave Everything as It Is', value: false },
  ];
  const title = `Set up ${plain(answers.login)} as profile “${plain(data.profile)}”?`;
  const placeholder = 'The editor shows what changes in your files';
  return (
    (await editor.pick(Promise.resolve(choices), { title, placeholder, stays: true })) === true
  );
}

/** Why the store is where it is, when nobody said so. */
function proposals({ values = [] }: ClusterSetUp, { store }: Answers): string[] {
  const found = store === '' ? values.filter(({ key }) => key === 'store') : [];
  return found.map(({ key, value, reason }) => `# ${key} = ${value}: ${reason}`);
}

async function tellChecks({ editor }: Context, done: ClusterSetUp): Promise<void> {
  const bad = done.checks.filter((check) => !check.ok);
  if (bad.length === 0) {
    const button = 'Allocate Compute Node';
    const pressed = await editor.inform(`${plain(done.login)} is ready to use.`, button);
    if (pressed === button) await editor.execute('scratchflow.allocate');
    return;
  }
  const lines = bad.map(({ name, detail, fix }) => `${name}: ${detail}${fix ? `; ${fix}` : ''}`);
  const pressed = await editor.warn(`Not all is well yet. ${plain(lines.join(' · '))}`, 'Show Log');
  if (pressed !== undefined) editor.showLog();
}
