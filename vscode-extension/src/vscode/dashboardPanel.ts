// The dashboard's panel: a page without network that is sent data and sends back button presses.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Dashboard } from '../dashboard/model';

const SERVICE_COMMANDS = new Set(['open', 'copy', 'stop']);
const COMMANDS = new Set(['up', 'backup', 'nodes', 'snapshots', 'refresh']);

export class DashboardPanel {
  private panel: vscode.WebviewPanel | undefined;
  private shown: Dashboard | undefined;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly make: () => Promise<Dashboard>,
  ) {}

  show(): void {
    if (this.panel) {
      this.panel.reveal();
      return;
    }
    const media = vscode.Uri.joinPath(this.extension, 'media');
    const dist = vscode.Uri.joinPath(this.extension, 'dist');
    const options = { enableScripts: true, localResourceRoots: [media, dist] };
    const column = vscode.ViewColumn.Active;
    const panel = vscode.window.createWebviewPanel('scratchflow', 'scratchflow', column, options);
    this.panel = panel;
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage((message: unknown) => this.answer(message));
    panel.webview.html = page(panel.webview, this.extension);
  }

  /** Sends the page what is true now; nothing while nobody looks. */
  async update(): Promise<void> {
    const { panel } = this;
    if (!panel?.visible) return;
    const shown = await this.make();
    // It may have been closed meanwhile.
    if (this.panel !== panel) return;
    this.shown = shown;
    await panel.webview.postMessage(shown);
  }

  dispose(): void {
    this.panel?.dispose();
  }

  private answer(message: unknown): void {
    if (typeof message !== 'object' || message === null || !('type' in message)) return;
    if (message.type === 'ready') void this.update();
    // Only the buttons that the page has; a page can be wrong, or worse.
    const name = 'name' in message ? message.name : undefined;
    if (message.type === 'service') this.serve('what' in message ? message.what : '', name);
    if (message.type === 'run') run(name);
  }

  /** Only what the page was given to show. */
  private serve(what: unknown, name: unknown): void {
    const found = this.shown?.services.find((service) => service.name === name);
    if (!found || typeof what !== 'string' || !SERVICE_COMMANDS.has(what)) return;
    void vscode.commands.executeCommand(`scratchflow.service.${what}`, { ref: found });
  }
}

function run(name: unknown): void {
  if (typeof name !== 'string' || !COMMANDS.has(name)) return;
  void vscode.commands.executeCommand(`scratchflow.${name}`);
}

function page(webview: vscode.Webview, extension: vscode.Uri): string {
  const at = (...path: string[]) =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, ...path)).toString();
  const nonce = randomBytes(16).toString('base64');
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <link rel="stylesheet" href="${at('media', 'dashboard.css')}" />
    <title>scratchflow</title>
  </head>
  <body>
    <script nonce="${nonce}" src="${at('dist', 'dashboard.js')}"></script>
  </body>
</html>`;
}
