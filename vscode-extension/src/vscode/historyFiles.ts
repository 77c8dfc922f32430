// Files as they were: the very bytes of a file elsewhere, in an editor that cannot write to them.

import * as vscode from 'vscode';

export const HISTORY_SCHEME = 'scratchflow-history';

/** The same file, to be read alone; its path stays, so that the editor knows its language. */
export function historyUri(uri: vscode.Uri): vscode.Uri {
  return vscode.Uri.from({ scheme: HISTORY_SCHEME, path: uri.path, query: uri.toString() });
}

function original(uri: vscode.Uri): vscode.Uri {
  return vscode.Uri.parse(uri.query, true);
}

export class HistoryFiles implements vscode.FileSystemProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const found = await vscode.workspace.fs.stat(original(uri));
    return { ...found, permissions: vscode.FilePermission.Readonly };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return vscode.workspace.fs.readFile(original(uri));
  }

  async readDirectory(uri: vscode.Uri): Promise<[string, vscode.FileType][]> {
    return vscode.workspace.fs.readDirectory(original(uri));
  }

  writeFile(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }
}
