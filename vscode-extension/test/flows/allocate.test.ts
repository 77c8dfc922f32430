import { describe, expect, test } from 'vitest';
import { allocate, nodeChoices } from '../../src/flows/allocate';
import { guarded } from '../../src/flows/context';
import { phaseOf } from '../../src/state/state';
import { answering, failure, playing, summary, type Play } from '../fakeCli';
import { node } from '../nodes';
import { NO_NODE } from '../pictures';
import { lab } from './lab';

const GOT = {
  job_id: 7,
  node: 'node-2',
  partition: 'debug',
  end_time: null,
  alias: 'compile_machine',
  reused: false,
  warm: null,
};
const READY = {
  node: 'node-2',
  editor: { path: '/scratch/alice/work', host: 'compile_machine', exists: true },
};
const state = (name: string, reason: string | null) => ({
  line: { type: 'state', state: name, previous: null, reason },
});
const waiting = { line: { type: 'progress', phase: 'waiting for a node' } };
const PLAY: Play = {
  'config show': playing('config-show'),
  nodes: answering({
    nodes: [node('node-1'), node('node-2', { warm: '20261115T114000Z-aaaaaa' })],
  }),
  allocate: {
    steps: [
      { hello: true },
      state('pending', 'Priority'),
      waiting,
      state('running', null),
      summary(GOT),
    ],
  },
};
const ANY = { 'Allocate Compute Node': 'Any free node' };

describe('the list of nodes', () => {
  const names = (...nodes: ReturnType<typeof node>[]) =>
    nodeChoices(nodes).map(({ label }) => label);

  test('puts warm ones first, then those with most free, and those that are gone last', () => {
    expect(
      names(
        node('gone', { available: false, state: 'down' }),
        node('busy', { cpus_free: 0 }),
        node('gpus', { gpus: 4, gpus_free: 2 }),
        node('warm', { warm: 'x', cpus_free: 1 }),
      ),
    ).toEqual(['Any free node', 'warm', 'gpus', 'busy', 'gone']);
  });
});

describe('allocating', () => {
  test('asks which node, shows the queue’s reason, and offers the next step', async () => {
    const { context, editor, argvs } = lab(PLAY, ANY, NO_NODE);
    await allocate(context);
    expect(editor.seen).toEqual([
      'nodes',
      'pick: Allocate Compute Node',
      'progress: Allocating a compute node',
      '  waiting in the queue · Priority',
      '  the node is yours',
      'info: node-2 is yours. | Start Working | Initialize Scratch Space',
    ]);
    expect(argvs()).toEqual(['config show', 'nodes', 'allocate --keep-waiting']);
  });

  test('takes a bare number and the user’s Slurm settings', async () => {
    const { context, editor, argvs } = lab(PLAY, { 'Allocate Compute Node': '2' });
    editor.settings.set('slurm.gpus', 1);
    await allocate(context);
    expect(argvs().at(-1)).toBe('allocate --node 2 --set slurm.gpus=1 --keep-waiting');
  });

  test('works without a list of nodes', async () => {
    const { context, argvs } = lab({ ...PLAY, nodes: playing('refused') }, ANY);
    await allocate(context);
    expect(argvs().at(-1)).toBe('allocate --keep-waiting');
  });

  test('dismissed, asks for nothing', async () => {
    const { context, argvs } = lab(PLAY);
    await allocate(context);
    expect(argvs()).toEqual(['config show', 'nodes']);
  });

  test('is seen as waiting meanwhile, and as settled after an error', async () => {
    const refused = {
      steps: [{ hello: true }, state('pending', 'x'), failure('allocation.refused', 'no')],
    };
    const { context, store, editor } = lab({ ...PLAY, allocate: refused }, ANY, NO_NODE);
    const phases: string[] = [];
    store.onChange((picture) => phases.push(phaseOf(picture)));
    await guarded(context, allocate)();
    expect(phases).toEqual(['waiting', 'waiting', 'none']);
    expect(editor.seen.at(-1)).toBe('error: No. | Show Log');
  });

  test('cancelled, interrupts the CLI and says nothing', async () => {
    const waiting = { steps: [{ hello: true }, state('pending', 'Priority'), { hang: true }] };
    const { context, editor, store, calls } = lab({ ...PLAY, allocate: waiting }, ANY, NO_NODE);
    store.onChange(({ request }) => {
      if (request?.state === 'pending') editor.abort.abort();
    });
    await guarded(context, allocate)();
    expect(calls().at(-1)?.signal).toBe('SIGINT');
    expect(editor.seen.at(-1)).toContain('waiting in the queue');
  });

  test('opens the workspace when the user wants that, after it was brought there', async () => {
    const { context, editor, argvs } = lab({ ...PLAY, up: answering(READY) }, ANY, NO_NODE);
    editor.settings.set('openAfterAllocate', 'always');
    await allocate(context);
    expect(argvs().slice(-2)).toEqual(['allocate --keep-waiting', 'up --keep-waiting']);
    expect(editor.seen.at(-1)).toBe('folder: compile_machine:/scratch/alice/work');
  });

  test('offers to open only a node that was held already', async () => {
    const again = { ...PLAY, allocate: answering({ ...GOT, reused: true }) };
    const { context, editor } = lab(again, ANY, NO_NODE);
    await allocate(context);
    expect(editor.seen.at(-1)).toContain('is yours already. | Open Workspace | Initialize');
  });
});

describe('the request form', () => {
  const gpus = { type: 'a100', total: 8, free: 6, most_on_a_node: 4, most_free_on_a_node: 2 };
  const form: Play = {
    ...PLAY,
    nodes: answering({
      nodes: [node('node-1', { partitions: ['debug', 'gpu'] })],
      partition: 'gpu',
      gpu_types: [gpus],
      asks: '--time=8:00:00',
      last: '--time=4:00:00 --gpus=2',
    }),
    allocate: answering({ ...GOT, command: 'salloc --time=4:00:00 --gpus=2' }),
  };
  const SEND = 'Send this request?';
  const CHOOSE = { 'Allocate Compute Node': 'Choose GPUs, time, CPUs, memory…' };
  const as = 'As the profile says';
  const DEFAULTS = { Partition: as, GPUs: as, Time: as, CPUs: as, Memory: as };

  test('says beside each way what it asks of Slurm', async () => {
    const { context, editor } = lab(form);
    await allocate(context);
    expect(editor.picked.slice(0, 3).map(({ description }) => description)).toEqual([
      '--time=8:00:00',
      '--time=4:00:00 --gpus=2',
      undefined,
    ]);
  });

  test('says what settings of the editor ask for, in the list and in the form', async () => {
    for (const answers of [{}, CHOOSE]) {
      const { context, editor } = lab(form, answers);
      editor.settings.set('slurm.time', '20m');
      await allocate(context);
      expect(editor.picked[0]?.description).toBe('time=20m by the settings');
    }
  });

  test('a wrong setting is told before the first step, with the value that was found', async () => {
    const message = '`slurm.time` (--set): must be `90m`, `8h` or `2d`';
    const bad = { steps: [{ hello: true }, failure('config.bad_value', message)] };
    const { context, editor, argvs, replay } = lab(form, CHOOSE);
    editor.settings.set('slurm.time', 'soon');
    const nodes = async () => {
      const shown = await context.nodes();
      replay({ ...form, 'config show': bad });
      return shown;
    };
    await guarded({ ...context, nodes }, allocate)();
    expect(argvs().at(-1)).toBe('config show --set slurm.time=soon');
    expect(editor.seen.slice(2)).toEqual([
      'error: The setting `scratchflow.slurm.time` (soon): must be `90m`, `8h` or `2d`. | Open Setting | Show Log',
    ]);
  });

  test('asks as last time after Slurm’s line was shown', async () => {
    const answers = { 'Allocate Compute Node': 'As last time', [SEND]: true };
    const { context, editor, argvs } = lab(form, answers, NO_NODE);
    await allocate(context);
    expect(argvs().slice(-2)).toEqual([
      'allocate --last --dry-run',
      'allocate --last --keep-waiting',
    ]);
    expect(editor.details).toEqual(['salloc --time=4:00:00 --gpus=2']);
  });

  test('sends what was chosen, typed values too, and leaves defaults to the profile', async () => {
    const chosen = { ...DEFAULTS, GPUs: '2 a100', Time: '90m', Partition: 'gpu' };
    const answers = { ...CHOOSE, ...chosen, [SEND]: true };
    const { context, argvs } = lab(form, answers, NO_NODE);
    await allocate(context);
    const flags = '--partition gpu --gpus a100:2 --time 90m';
    expect(argvs().slice(-2)).toEqual([
      `allocate ${flags} --dry-run`,
      `allocate ${flags} --keep-waiting`,
    ]);
  });

  test('a value that is refused is told in the CLI’s words, and the form comes back with the answers', async () => {
    const message = '`--gpus` takes a number, not `abc`';
    const refused = { steps: [{ hello: true }, failure('usage.invalid', message)] };
    const gpusOffered: unknown[] = [];
    const answers = {
      ...{ ...CHOOSE, ...DEFAULTS, [SEND]: true },
      get GPUs() {
        const [{ label, description, detail } = {}] = editor.picked;
        gpusOffered.push([label, description, detail]);
        return gpusOffered.length === 1 ? 'abc' : '2 a100';
      },
      Time: '90m',
      get [message]() {
        replay(form);
        return 'Change Request';
      },
    };
    const { context, editor, argvs, replay } = lab(
      { ...form, allocate: refused },
      answers,
      NO_NODE,
    );
    await allocate(context);
    expect(editor.seen).toContain(`error: ${message}. | Change Request | Show Log`);
    expect(gpusOffered).toEqual([
      [as, undefined, undefined],
      ['abc', undefined, 'your last answer'],
    ]);
    expect(argvs().at(-1)).toBe('allocate --gpus a100:2 --time 90m --keep-waiting');
  });

  test('a request that Slurm refuses can be changed, too; left alone, nothing is asked again', async () => {
    const refused = {
      steps: [{ hello: true }, failure('allocation.refused', 'No such partition')],
    };
    const answers = { ...CHOOSE, ...DEFAULTS };
    const { context, editor, argvs } = lab({ ...form, allocate: refused }, answers, NO_NODE);
    await allocate(context);
    expect(editor.seen.at(-1)).toBe('error: No such partition. | Change Request | Show Log');
    expect(argvs().at(-1)).toBe('allocate --dry-run');
  });

  test('dismissed at any step, asks for nothing', async () => {
    for (const title of [...Object.keys(DEFAULTS), SEND]) {
      const answers = { ...CHOOSE, ...DEFAULTS, [SEND]: true, [title]: undefined };
      const { context, argvs } = lab(form, answers);
      await allocate(context);
      expect(argvs().filter((argv) => argv.includes('keep-waiting'))).toEqual([]);
    }
  });
});

describe('with several profiles', () => {
  const shown = { path: '/c', profile: 'aws', profiles: ['azure', 'aws', 'local'], values: {} };
  const play = { ...PLAY, 'config show': answering(shown) };

  test('asks which, the one in use first, and keeps the answer for this window alone', async () => {
    const { context, editor } = lab(play, { ...ANY, Profile: 'azure' });
    await allocate(context);
    expect(editor.seen.slice(0, 2)).toEqual(['pick: Profile', 'here: profile = "azure"']);
  });

  test('does not count the built-in one beside a cluster', async () => {
    const one = { ...shown, profiles: ['aws', 'local'] };
    const { context, editor } = lab({ ...PLAY, 'config show': answering(one) }, ANY);
    await allocate(context);
    expect(editor.seen.slice(0, 2)).toEqual(['nodes', 'pick: Allocate Compute Node']);
  });

  test('leaves the setting alone when the answer is what is in use', async () => {
    const { context, editor } = lab(play, { ...ANY, Profile: 'aws' });
    await allocate(context);
    expect(editor.seen.slice(1, 3)).toEqual(['nodes', 'pick: Allocate Compute Node']);
  });
});
