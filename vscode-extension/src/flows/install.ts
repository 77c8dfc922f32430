// Install Command Line: one click, from the wheel that came with the extension.

import { install as installWheel, programs } from '../cli/install';
import { cancelled, CliError } from '../cli/problem';
import { CLI_VERSION } from '../cli/protocol';
import { plain } from '../format/words';
import { text } from '../settings';
import type { Context } from './context';

const CLI_PATH = 'cliPath';

export interface Places {
  readonly wheelDirectory: string;
  readonly storage: string;
  readonly log: (line: string) => void;
}

export async function install({ editor, reconnect }: Context, places: Places): Promise<void> {
  await editor.withProgress('Installing scratchflow', ({ report, signal }) => {
    const run = programs(places.log, signal);
    const installing = installWheel({ ...places, run, say: (step) => report(step) }, CLI_VERSION);
    return installing.catch((error: unknown) => {
      throw signal.aborted
        ? new CliError(cancelled('Cancelled: scratchflow is not installed.'))
        : error;
    });
  });
  if (!(await isInUse(editor))) return;
  reconnect();
  const button = 'Set Up Cluster';
  const pressed = await editor.inform(
    'scratchflow is installed, also for new terminals of this editor.',
    button,
  );
  if (pressed === button) await editor.execute('scratchflow.setup');
}

/** A program that a setting names goes before the installed one: it stays in use unless the setting is emptied. */
export async function isInUse(editor: Context['editor']): Promise<boolean> {
  const path = text(editor.setting(CLI_PATH));
  if (path === '') return true;
  const button = 'Use the Installed One';
  const message = `scratchflow is installed, but the setting scratchflow.cliPath still names ${plain(path)}.`;
  if ((await editor.warn(message, button)) !== button) return false;
  await editor.setSetting(CLI_PATH, undefined);
  return true;
}
