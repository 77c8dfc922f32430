// Files of this window with changes that are not saved: texts and notebooks.

import * as vscode from 'vscode';
import type { Place } from '../state/original';
import { placeOf } from './place';

type Unsaved = vscode.TextDocument | vscode.NotebookDocument;

/** The cells of a notebook are texts, too, and not files. */
function all(): Unsaved[] {
  const { textDocuments, notebookDocuments } = vscode.workspace;
  const files = textDocuments.filter(({ uri }) => uri.scheme !== 'vscode-notebook-cell');
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

/** VS Code can only do that with the editor in front: the one that was there comes back. */
export async function reloadFiles(files: readonly Place[]): Promise<void> {
  const before = vscode.window.activeTextEditor;
  for (const document of documentsOf(files)) {
    if ('getCells' in document) await vscode.window.showNotebookDocument(document);
    else await vscode.window.showTextDocument(document, { preview: false });
    await vscode.commands.executeCommand('workbench.action.files.revert');
  }
  if (before) await vscode.window.showTextDocument(before.document, before.viewColumn);
}
