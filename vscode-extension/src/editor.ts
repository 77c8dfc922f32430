// The thin seam over the editor: all that the flows may ask of it. src/vscode/ has the real one.

import type { InSnapshot } from './cli/snapshotFiles';
import type { Place } from './state/original';

export interface Choice<T> {
  readonly label: string;
  readonly value: T;
  readonly description?: string;
  readonly detail?: string;
}

export interface Question {
  readonly title: string;
  readonly prompt: string;
  readonly placeholder?: string;
  readonly value?: string;
  /** What is wrong with the answer, or nothing. */
  readonly check?: (answer: string) => string | undefined;
}

export interface PickOptions {
  readonly title: string;
  readonly placeholder: string;
  /** Stays open when the focus goes elsewhere: for what the user has waited for. */
  readonly stays?: boolean;
  /** What was chosen before: Enter takes it again. */
  readonly before?: string;
  /** Lets the user type an answer of their own; says how it would be shown. */
  readonly typed?: (text: string) => Choice<string> | undefined;
}

/** One side of a comparison: a file of the workspace's host by its whole path, or one of a snapshot. */
export type Side = string | InSnapshot;

export type Say = (message: string, ...buttons: string[]) => Promise<string | undefined>;

export interface Progress {
  /** `percent` is what is done in all; left out while that is not known. */
  readonly report: (message: string, percent?: number) => void;
  /** Aborted when the user presses Cancel. */
  readonly signal: AbortSignal;
}

export interface Editor {
  readonly inform: Say;
  readonly warn: Say;
  readonly fail: Say;
  confirm(message: string, detail: string, button: string): Promise<boolean>;
  /** The same with several buttons: which was pressed, or nothing. */
  choose(message: string, detail: string, ...buttons: string[]): Promise<string | undefined>;
  pick<T>(
    choices: Promise<readonly Choice<T>[]>,
    options: PickOptions,
  ): Promise<T | string | undefined>;
  ask(question: Question): Promise<string | undefined>;
  withProgress<T>(title: string, task: (progress: Progress) => Promise<T>): Promise<T>;
  execute(command: string, ...args: unknown[]): Promise<unknown>;
  showLog(): void;
  /** A program in a terminal on the user's own machine, started without a shell. */
  runInTerminal(name: string, file: string, args: readonly string[]): void;
  /** The same until it has ended and its terminal is closed: its exit code, or nothing when it was closed before. */
  runToEnd(name: string, file: string, args: readonly string[]): Promise<number | undefined>;
  /** What a program prints, in a terminal that stays when it has ended; closing it ends the program. Resolves at its end. */
  showOutput(name: string, file: string, args: readonly string[]): Promise<void>;
  /** A line typed into a terminal, for the user to press Enter. */
  typeIntoTerminal(name: string, text: string): void;
  /** Puts text on the clipboard of the user's own machine. */
  copy(text: string): Promise<void>;
  openFile(path: string): Promise<void>;
  /** Text to read, in an editor that cannot be written to. */
  showText(title: string, text: string): Promise<void>;
  /** Opens a folder of a host that ssh knows; in this window or in another. */
  openRemoteFolder(host: string, path: string): Promise<void>;
  openLocalFolder(path: string): Promise<void>;
  /** The folders of this window. */
  folders(): readonly Place[];
  hasRemoteSsh(): boolean;
  /** Whether this window is one of that host's. */
  isConnectedTo(host: string): boolean;
  /** The files of this window that are not saved. */
  unsaved(): readonly Place[];
  /** Whether all of them could be saved. */
  save(files: readonly Place[]): Promise<boolean>;
  /** Shows them as they are on disk, and forgets what was not saved. Returns those with which that failed. */
  reload(files: readonly Place[]): Promise<readonly Place[]>;
  /** The whole path of the file in the active editor, on whichever host; nothing when it is no file. */
  currentFile(): string | undefined;
  /** A file of a snapshot, in an editor that cannot write to it. */
  openInSnapshot(where: InSnapshot): Promise<void>;
  /** A directory of a snapshot in the Explorer of another window: this one stays as it is. */
  browseSnapshot(where: InSnapshot): Promise<void>;
  /** Two files side by side; those of snapshots cannot be written to. */
  compare(left: Side, right: Side, host: string | undefined, title: string): Promise<void>;
  setting(key: string): unknown;
  setSetting(key: string, value: unknown): Promise<void>;
  recall(key: string): unknown;
  remember(key: string, value: unknown): Promise<void>;
  /** The same for this window's folder alone. */
  recallHere(key: string): unknown;
  rememberHere(key: string, value: unknown): Promise<void>;
}
