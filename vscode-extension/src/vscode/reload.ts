// Loads files anew whose changes were not saved. VS Code can do that only with the editor in front. Pure.

export interface Unsaved {
  readonly isDirty: boolean;
}

/** What the editor does with one file. */
export interface Desk<D> {
  /** Brings it to the front; whether that is what is there now. */
  show(document: D): Promise<boolean>;
  /** Forgets what was not saved in whatever is in front. */
  revert(): Promise<unknown>;
  isOnDisk(document: D): Promise<boolean>;
  close(document: D): Promise<unknown>;
}

/** Shows them as they are on disk, and closes those that are there no more. Returns those that still are not saved. */
export async function reloadAll<D extends Unsaved>(
  documents: readonly D[],
  desk: Desk<D>,
): Promise<D[]> {
  for (const document of documents) {
    // The user may have gone to another editor meanwhile: what is not saved there is not ours to forget.
    if (await desk.show(document)) await desk.revert();
    // Its old text stays on the screen, and a save would bring the file back.
    if (!document.isDirty && !(await desk.isOnDisk(document))) await desk.close(document);
  }
  return documents.filter(({ isDirty }) => isDirty);
}
