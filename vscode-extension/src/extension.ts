// Wires the parts together; what they do is in them.

import { join } from 'node:path';
import * as vscode from 'vscode';
import { Cli } from './cli/cli';
import { handlers } from './commands';
import { AliasWindow } from './flows/aliasWindow';
import { guarded, type Context } from './flows/context';
import { Deadlines } from './flows/deadlines';
import { takeOver } from './flows/handOver';
import { OF_WINDOW } from './flows/profile';
import { tellGrant } from './flows/queue';
import { offerOnce } from './flows/remoteSsh';
import { shellTerminal } from './flows/shell';
import { UnderWay } from './flows/underWay';
import { installedCli } from './cli/install';
import { isOnPath, locate } from './cli/locate';
import { CLI_VERSION } from './cli/protocol';
import { globalArgs, profileOf, text } from './settings';
import { SnapshotFiles } from './cli/snapshotFiles';
import { linkDirectory, offerInTerminals } from './cli/terminals';
import { phaseOf, Store } from './state/state';
import { OFFERS } from './verbs';
import { VsCodeEditor } from './vscode/editor';
import { GutterMarks } from './vscode/gutterMarks';
import { Screen } from './vscode/screen';
import { SNAPSHOT_SCHEME, SnapshotFileSystem } from './vscode/snapshotFiles';
import { ReadOnlyTexts, SCHEME } from './vscode/texts';
import { Watch } from './state/watch';

const TICK_MS = 20_000;

export function activate(context: vscode.ExtensionContext): void {
  const startedMs = performance.now();
  const channel = vscode.window.createOutputChannel('scratchflow');
  const log = (line: string) => channel.appendLine(`${new Date().toISOString()} ${line}`);
  const texts = new ReadOnlyTexts();
  const editor = new VsCodeEditor(context, channel, texts);
  const storage = context.globalStorageUri.fsPath;
  const find = () => locate(placesOf(editor, storage));
  const args = () => argsOf(editor);
  const cli = new Cli({ locate: find, globalArgs: args, log });
  const store = new Store();
  const watch = new Watch({ cli, tell: (happening) => store.dispatch(happening), now: Date.now });
  const screen = new Screen(context.extensionUri, cli, store);
  const refresh = () => screen.refresh();
  const nodes = () => screen.freshNodes();
  const [jobs, refreshJobs] = [() => screen.jobs.fresh(), () => screen.jobs.refresh()];
  const refreshSync = () => screen.clusters.refreshSync();
  const offer = () =>
    void offerProgram(context, editor, storage).catch((error: unknown) => log(String(error)));
  const reconnect = () => beginAnew(watch, screen, offer);
  const flow: Context = {
    ...{ cli, editor, store, nodes, jobs, refreshJobs, refreshSync, refresh, reconnect },
    ...{ locate: find, globalArgs: args },
  };
  context.subscriptions.push(
    channel,
    screen.show(),
    ...registerReadOnly(texts, flow),
    ...register(flow, screen, {
      storage,
      wheelDirectory: join(context.extensionPath, 'wheel'),
      log,
    }),
    registerProfile(flow, editor),
    ...react(flow, screen, watch, offer),
    { dispose: () => stopAll(watch, cli) },
  );
  // Starting a process takes longer than all of the above; the editor need not wait for it.
  setImmediate(() => begin(watch, offer));
  log(`# activated in ${(performance.now() - startedMs).toFixed(1)} ms`);
}

function beginAnew(watch: Watch, screen: Screen, offer: () => void): void {
  watch.restart();
  screen.refresh();
  screen.clusters.refresh();
  offer();
}

/** Terminals of a window on another machine are there, and program and profiles are here: they get nothing. */
async function offerProgram(
  context: vscode.ExtensionContext,
  editor: VsCodeEditor,
  storage: string,
): Promise<void> {
  if (editor.isElsewhere()) return;
  const places = placesOf(editor, storage);
  await offerInTerminals(context.environmentVariableCollection, storage, {
    locate: () => locate(places),
    isOnPath: () => isOnPath(places),
    profile: () => profileOf((key) => editor.setting(key), editor.recallHere(OF_WINDOW)),
  });
}

/** Of several windows that are restored at once, only one has the focus; the others hear of no change. */
function begin(watch: Watch, offer: () => void): void {
  offer();
  watch.start();
  watch.focusChanged(vscode.window.state.focused);
}

/** What is shown and cannot be written to: texts of ours, and files as they were. */
function registerReadOnly(texts: ReadOnlyTexts, flow: Context): vscode.Disposable[] {
  const options = { isReadonly: true, isCaseSensitive: true };
  const files = new SnapshotFiles(flow.cli);
  const snapshots = new SnapshotFileSystem(files);
  return [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, texts),
    vscode.workspace.registerFileSystemProvider(SNAPSHOT_SCHEME, snapshots, options),
    ...markGutter(flow, files),
  ];
}

/** Off until the user wants it: it asks the CLI for every file that is opened. */
function markGutter({ editor, store }: Context, files: SnapshotFiles): vscode.Disposable[] {
  const marks = new GutterMarks(files, () => store.picture);
  const look = () => marks.look(editor.setting('gutterMarks') === true);
  return [
    marks,
    store.onChange(look),
    vscode.workspace.onDidChangeConfiguration(look),
    vscode.workspace.onDidChangeWorkspaceFolders(look),
  ];
}

function stopAll(watch: Watch, cli: Cli): void {
  watch.stop();
  cli.dispose();
}

function argsOf(editor: VsCodeEditor): string[] {
  return globalArgs((key) => editor.setting(key), editor.recallHere(OF_WINDOW));
}

function placesOf(editor: VsCodeEditor, storage: string) {
  return {
    setting: text(editor.setting('cliPath')),
    path: process.env.PATH ?? '',
    folders: [
      ...(vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath),
      // An editor that was started in one of its own terminals has it on its PATH.
      linkDirectory(storage),
    ],
    own: installedCli(storage, CLI_VERSION),
  };
}

type Places = Parameters<typeof handlers>[2];

function register(flow: Context, screen: Screen, places: Places): vscode.Disposable[] {
  const table = handlers(flow, { showDashboard: () => screen.showDashboard() }, places);
  return OFFERS.flatMap(({ command }) => {
    const handler = table[command.slice('scratchflow.'.length)];
    return handler ? [vscode.commands.registerCommand(command, handler)] : [];
  });
}

/** Beside bash and zsh in the menu of new terminals. */
function registerProfile(flow: Context, editor: VsCodeEditor): vscode.Disposable {
  return vscode.window.registerTerminalProfileProvider('scratchflow.shell', {
    provideTerminalProfile: async () => {
      let found: vscode.TerminalProfile | undefined;
      await guarded(flow, async (given) => {
        const { name, file, args } = await shellTerminal(given);
        found = new vscode.TerminalProfile(editor.terminal(name, file, args));
      })();
      return found;
    },
  });
}

/** A window that another one opened, or brought to the front, may be given a profile by it. */
function reactToFocus(flow: Context, watch: Watch): vscode.Disposable[] {
  const take = guarded(flow, takeOver);
  void take();
  const look = ({ focused }: vscode.WindowState) => {
    watch.focusChanged(focused);
    if (focused) void take();
  };
  return [vscode.window.onDidChangeWindowState(look)];
}

/** What happens without a command: the picture changes, time passes, settings and focus change. */
function react(
  flow: Context,
  screen: Screen,
  watch: Watch,
  offerProgram: () => void,
): vscode.Disposable[] {
  const deadlines = new Deadlines(flow);
  const look = guarded(flow, () => deadlines.look(Date.now()));
  const offer = guarded(flow, offerOnce);
  const grant = guarded(flow, tellGrant);
  const aliasWindow = new AliasWindow(flow);
  const lookAtWindow = guarded(flow, () => aliasWindow.look(flow.store.picture));
  const underWay = new UnderWay(flow);
  const lookBack = guarded(flow, () => underWay.look(flow.store.picture));
  const tick = setInterval(() => {
    screen.redraw();
    void look();
    void lookAtWindow();
  }, TICK_MS);
  return [
    flow.store.onChange((now, before) => {
      screen.changed(now, before);
      void look();
      void grant(now, before);
      void lookAtWindow();
      void lookBack();
      if (phaseOf(now) === 'held' && phaseOf(before) !== 'held') void offer();
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration('scratchflow')) return;
      watch.restart();
      offerProgram();
    }),
    ...reactToFocus(flow, watch),
    { dispose: () => clearInterval(tick) },
  ];
}
