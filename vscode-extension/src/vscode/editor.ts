// The seam's real side: VS Code. No decisions here.

import { homedir } from 'node:os';
import * as vscode from 'vscode';
import type { Choice, Editor, PickOptions, Progress, Question, Side } from '../editor';
import type { Output } from '../cli/output';
import { inSnapshot, type InSnapshot } from '../cli/snapshotFiles';
import type { Place } from '../state/original';
import { opensSshHosts } from './sshHosts';
import { showOutput } from './outputTerminal';
import { pick } from './pick';
import { placeOf } from './place';
import { SNAPSHOT_SCHEME, snapshotUri } from './snapshotFiles';
import type { ReadOnlyTexts } from './texts';
import { reloadFiles, saveFiles, unsavedFiles } from './unsavedFiles';

const REMOTE_SSH = ['ms-vscode-remote.remote-ssh', 'jeanp413.open-remote-ssh'];

export class VsCodeEditor implements Editor {
  private readonly outputs = new Set<Output>();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.OutputChannel,
    private readonly texts: ReadOnlyTexts,
  ) {
    context.subscriptions.push({ dispose: () => this.outputs.forEach((one) => one.stop()) });
  }

  async inform(message: string, ...buttons: string[]): Promise<string | undefined> {
    return vscode.window.showInformationMessage(message, ...buttons);
  }

  async warn(message: string, ...buttons: string[]): Promise<string | undefined> {
    return vscode.window.showWarningMessage(message, ...buttons);
  }

  async fail(message: string, ...buttons: string[]): Promise<string | undefined> {
    return vscode.window.showErrorMessage(message, ...buttons);
  }

  async confirm(message: string, detail: string, button: string): Promise<boolean> {
    return (await this.choose(message, detail, button)) === button;
  }

  async choose(message: string, detail: string, ...buttons: string[]): Promise<string | undefined> {
    return vscode.window.showWarningMessage(message, { modal: true, detail }, ...buttons);
  }

  pick<T>(
    choices: Promise<readonly Choice<T>[]>,
    options: PickOptions,
  ): Promise<T | string | undefined> {
    return pick(choices, options);
  }

  async ask({ title, prompt, placeholder, value, check }: Question): Promise<string | undefined> {
    const answer = await vscode.window.showInputBox({
      title,
      prompt,
      ignoreFocusOut: true,
      ...(placeholder === undefined ? {} : { placeHolder: placeholder }),
      ...(value === undefined ? {} : { value }),
      validateInput: (text) => check?.(text.trim()),
    });
    return answer?.trim();
  }

  async withProgress<T>(title: string, task: (progress: Progress) => Promise<T>): Promise<T> {
    const location = vscode.ProgressLocation.Notification;
    return vscode.window.withProgress({ location, title, cancellable: true }, (bar, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => {
        bar.report({ message: 'cancelling…' });
        abort.abort();
      });
      return task({ report: reporter(bar), signal: abort.signal });
    });
  }

  async execute(command: string, ...args: unknown[]): Promise<unknown> {
    return vscode.commands.executeCommand(command, ...args);
  }

  showLog(): void {
    this.log.show(true);
  }

  runInTerminal(name: string, file: string, args: readonly string[]): void {
    vscode.window.createTerminal(this.terminal(name, file, args)).show();
  }

  async runToEnd(name: string, file: string, args: readonly string[]): Promise<number | undefined> {
    const terminal = vscode.window.createTerminal(this.terminal(name, file, args));
    terminal.show();
    return new Promise((resolve) => {
      const closed = vscode.window.onDidCloseTerminal((one) => {
        if (one !== terminal) return;
        closed.dispose();
        resolve(one.exitStatus?.code);
      });
    });
  }

  showOutput(name: string, file: string, args: readonly string[]): Promise<void> {
    return showOutput(name, file, args, this.outputs);
  }

  /** A terminal of the user's own machine, also in a window of another one. */
  terminal(name: string, file: string, args: readonly string[]): vscode.TerminalOptions {
    return { name, shellPath: file, shellArgs: [...args], cwd: this.localHome() };
  }

  typeIntoTerminal(name: string, text: string): void {
    const terminal = vscode.window.createTerminal({ name, cwd: this.localHome() });
    terminal.show();
    terminal.sendText(text, false);
  }

  /** In a remote window a `file:` URI is what makes a terminal a local one. */
  private localHome(): string | vscode.Uri {
    return this.isElsewhere() ? vscode.Uri.file(homedir()) : homedir();
  }

  /** Whether this window, and its terminals with it, is on another machine than this extension. */
  isElsewhere(): boolean {
    const isLocal = this.context.extension.extensionKind === vscode.ExtensionKind.UI;
    return vscode.env.remoteName !== undefined && isLocal;
  }

  async copy(text: string): Promise<void> {
    await vscode.env.clipboard.writeText(text);
  }

  async openFile(path: string): Promise<void> {
    await vscode.window.showTextDocument(vscode.Uri.file(path));
  }

  async showText(title: string, text: string): Promise<void> {
    await vscode.window.showTextDocument(this.texts.add(title, text), { preview: true });
  }

  async openRemoteFolder(host: string, path: string): Promise<void> {
    await this.openFolder(remoteUri(host, path));
  }

  async openLocalFolder(path: string): Promise<void> {
    await this.openFolder(vscode.Uri.file(path));
  }

  private async openFolder(uri: vscode.Uri): Promise<void> {
    const hasFolder = (vscode.workspace.workspaceFolders ?? []).length > 0;
    await vscode.commands.executeCommand('vscode.openFolder', uri, { forceNewWindow: hasFolder });
  }

  folders(): Place[] {
    return (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => placeOf(uri));
  }

  hasRemoteSsh(): boolean {
    return (
      REMOTE_SSH.some((id) => vscode.extensions.getExtension(id) !== undefined) ||
      vscode.extensions.all.some(({ packageJSON }) => opensSshHosts(packageJSON))
    );
  }

  isConnectedTo(host: string): boolean {
    const authority = `ssh-remote+${host}`;
    return (vscode.workspace.workspaceFolders ?? []).some(({ uri }) => uri.authority === authority);
  }

  unsaved(): Place[] {
    return unsavedFiles();
  }

  save(files: readonly Place[]): Promise<boolean> {
    return saveFiles(files);
  }

  reload(files: readonly Place[]): Promise<readonly Place[]> {
    return reloadFiles(files);
  }

  currentFile(): string | undefined {
    const uri = vscode.window.activeTextEditor?.document.uri;
    return uri && fileSchemes.has(uri.scheme) ? pathOf(uri) : undefined;
  }

  async openInSnapshot(where: InSnapshot): Promise<void> {
    await vscode.commands.executeCommand('vscode.open', snapshotUri(where));
  }

  async browseSnapshot(where: InSnapshot): Promise<void> {
    const options = { forceNewWindow: true };
    await vscode.commands.executeCommand('vscode.openFolder', snapshotUri(where), options);
  }

  async compare(left: Side, right: Side, host: string | undefined, title: string): Promise<void> {
    const [older, newer] = [left, right].map((side) => {
      if (typeof side !== 'string') return snapshotUri(side);
      return host === undefined ? vscode.Uri.file(side) : remoteUri(host, side);
    });
    await vscode.commands.executeCommand('vscode.diff', older, newer, title);
  }

  /** The user's own value: a workspace's is not even looked at. A key with `/` is another extension's. */
  setting(key: string): unknown {
    const found = vscode.workspace.getConfiguration().inspect(fullKey(key));
    return found?.globalValue ?? found?.defaultValue;
  }

  async setSetting(key: string, value: unknown): Promise<void> {
    const target = vscode.ConfigurationTarget.Global;
    await vscode.workspace.getConfiguration().update(fullKey(key), value, target);
  }

  recall(key: string): unknown {
    return this.context.globalState.get(key);
  }

  async remember(key: string, value: unknown): Promise<void> {
    await this.context.globalState.update(key, value);
  }

  recallHere(key: string): unknown {
    return this.context.workspaceState.get(key);
  }

  async rememberHere(key: string, value: unknown): Promise<void> {
    await this.context.workspaceState.update(key, value);
  }
}

const fileSchemes = new Set(['file', 'vscode-remote', SNAPSHOT_SCHEME]);

/** The path of a file as the CLI takes it: one of a snapshot from the workspace's name down. */
export function pathOf(uri: vscode.Uri): string {
  return uri.scheme === SNAPSHOT_SCHEME ? (inSnapshot(uri.path)?.path ?? '') : uri.path;
}

function fullKey(key: string): string {
  return key.startsWith('/') ? key.slice(1) : `scratchflow.${key}`;
}

function remoteUri(host: string, path: string): vscode.Uri {
  return vscode.Uri.from({ scheme: 'vscode-remote', authority: `ssh-remote+${host}`, path });
}

/** VS Code wants steps; ours are shares of the whole. */
function reporter(bar: vscode.Progress<{ message?: string; increment?: number }>) {
  let before = 0;
  return (message: string, percent?: number): void => {
    const increment = percent === undefined ? 0 : Math.max(0, percent - before);
    before = Math.max(before, percent ?? 0);
    bar.report(increment > 0 ? { message, increment } : { message });
  };
}
