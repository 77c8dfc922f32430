// What a flow needs, with a fake editor and a fake CLI.

import type { Context } from '../../src/flows/context';
import { Store } from '../../src/state/state';
import type { StatusShown } from '../../src/cli/protocol';
import { fakeCli, type Play } from '../fakeCli';
import { FakeEditor } from '../fakeEditor';
import { NOW } from '../pictures';

export function lab(play: Play, answers: FakeEditor['answers'] = {}, status?: StatusShown) {
  const fake = fakeCli(play);
  const editor = new FakeEditor(answers);
  const store = new Store();
  if (status) store.dispatch({ type: 'status', data: status, atMs: NOW });
  const context: Context = {
    cli: fake.cli,
    editor,
    store,
    locate: () => Promise.resolve('/bin/scratchflow'),
    globalArgs: () => ['--profile', 'aws'],
    nodes: async () => {
      editor.seen.push('nodes');
      return (await fake.cli.run('nodes')).data;
    },
    jobs: async () => {
      editor.seen.push('jobs');
      return (await fake.cli.run('jobs')).data;
    },
    refreshJobs: () => void editor.seen.push('refresh jobs'),
    refreshSync: () => void editor.seen.push('refresh sync'),
    refresh: () => void editor.seen.push('refresh'),
    reconnect: () => void editor.seen.push('reconnect'),
  };
  /** The arguments of each call, without `--json`. */
  const argvs = () =>
    fake.calls().flatMap(({ argv }) => (argv ? [argv.slice(0, -1).join(' ')] : []));
  return { ...fake, editor, store, context, argvs };
}
