// Files of this window with changes that are not saved: texts and notebooks.

import * as vscode from 'vscode';
import type { Place } from '../state/original';
import { placeOf } from './place';
import { reloadAll, type Desk } from './reload';

const CELL = 'vscode-notebook-cell';

type Unsaved = vscode.TextDocument | vscode.NotebookDocument;

/** The cells of a notebook are texts, too, and not files. */
function all(): Unsaved[] {
  const { textDocuments, notebookDocuments } = vscode.workspace;
  const files = textDocuments.filter(({ uri }) => uri.scheme !== CELL);
  return [...files, ...notebookDocuments].filter(({ isDirty }) => isDirty);
}

export function unsavedFiles(): Place[] {
  return all().map(({ uri }) => placeOf(uri));
}

function documentsOf(files: readonly Place[]): Unsaved[] {
  return all().filter(({ uri }) => {
    const { host, path } = placeOf(uri);
    return files.some((file) => file.host === host && file.path === path);
  });
}

export async function saveFiles(files: readonly Place[]): Promise<boolean> {
  let isSaved = true;
  for (const document of documentsOf(files)) isSaved = (await document.save()) && isSaved;
  return isSaved;
}

/** Returns those that still are not saved. The editor that was in front comes back. */
export async function reloadFiles(files: readonly Place[]): Promise<Place[]> {
  const before = vscode.window.activeTextEditor;
  const left = await reloadAll(documentsOf(files), DESK);
  if (before && !before.document.isClosed && before.document.uri.scheme !== CELL)
    await vscode.window.showTextDocument(before.document, before.viewColumn);
  return left.map(({ uri }) => placeOf(uri));
}

const DESK: Desk<Unsaved> = {
  async show(document) {
    if ('getCells' in document) {
      await vscode.window.showNotebookDocument(document);
      return vscode.window.activeNotebookEditor?.notebook === document;
    }
    await vscode.window.showTextDocument(document, { preview: false });
    return vscode.window.activeTextEditor?.document === document;
  },
  async revert() {
    await vscode.commands.executeCommand('workbench.action.files.revert');
  },
  async isOnDisk({ uri }) {
    try {
      await vscode.workspace.fs.stat(uri);
      return true;
    } catch (error) {
      // Where that cannot be told, nothing is closed.
      return !(error instanceof vscode.FileSystemError && error.code === 'FileNotFound');
    }
  },
  async close({ uri }) {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    await vscode.window.tabGroups.close(tabs.filter(({ input }) => shows(input, uri)));
  },
};

function shows(input: unknown, uri: vscode.Uri): boolean {
  const isFile = input instanceof vscode.TabInputText || input instanceof vscode.TabInputNotebook;
  return isFile && input.uri.toString() === uri.toString();
}
