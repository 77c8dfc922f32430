// An editor for tests: answers from a list, and remembers all that it was asked to do.

import { uriPath, type InSnapshot } from '../src/cli/snapshotFiles';
import type { Place } from '../src/state/original';
import type { Choice, Editor, PickOptions, Progress, Question, Side } from '../src/editor';

type Answer = string | boolean | undefined;

export class FakeEditor implements Editor {
  /** Everything that happened, in order: what a user would have seen. */
  readonly seen: string[] = [];
  /** What stood beneath each question to confirm. */
  readonly details: string[] = [];
  /** What stood in each box to type into. */
  readonly values: (string | undefined)[] = [];
  /** At what each list to choose from began. */
  readonly begun: (string | undefined)[] = [];
  readonly settings = new Map<string, unknown>();
  readonly memory = new Map<string, unknown>();
  readonly abort = new AbortController();
  picked: readonly Choice<unknown>[] = [];
  placeholder = '';
  remoteSsh = true;
  connected = true;
  notSaved: Place[] = [];
  canSave = true;
  notReloaded: Place[] = [];
  file: string | undefined;
  opened: Place[] = [];
  exitCodes: (number | undefined)[] = [];

  /** What the user answers, by the beginning of the question. */
  constructor(readonly answers: Record<string, Answer> = {}) {}

  private answer(question: string): Answer {
    const key = Object.keys(this.answers).find((start) => question.startsWith(start));
    return key === undefined ? undefined : this.answers[key];
  }

  private say(kind: string, message: string, buttons: string[]): Promise<string | undefined> {
    this.seen.push([`${kind}: ${message}`, ...buttons].join(' | '));
    const answer = this.answer(message);
    return Promise.resolve(typeof answer === 'string' ? answer : undefined);
  }

  inform = (message: string, ...buttons: string[]) => this.say('info', message, buttons);
  warn = (message: string, ...buttons: string[]) => this.say('warning', message, buttons);
  fail = (message: string, ...buttons: string[]) => this.say('error', message, buttons);

  confirm(message: string, detail: string): Promise<boolean> {
    this.seen.push(`confirm: ${message}`);
    this.details.push(detail);
    return Promise.resolve(this.answer(message) === true);
  }

  choose(message: string, detail: string, ...buttons: string[]): Promise<string | undefined> {
    this.details.push(detail);
    return this.say('choose', message, buttons);
  }

  async pick<T>(
    choices: Promise<readonly Choice<T>[]>,
    { title, placeholder, before }: PickOptions,
  ): Promise<T | string | undefined> {
    const offered = await choices;
    this.placeholder = placeholder;
    this.picked = offered;
    this.begun.push(before);
    this.seen.push(`pick: ${title}`);
    const answer = this.answer(title);
    return offered.find(({ label }) => label === answer)?.value ?? (answer as string | undefined);
  }

  ask({ title, check, value }: Question): Promise<string | undefined> {
    this.seen.push(`ask: ${title}`);
    this.values.push(value);
    const answer = this.answer(title);
    if (typeof answer !== 'string') return Promise.resolve(undefined);
    const wrong = check?.(answer);
    if (wrong !== undefined) this.seen.push(`invalid: ${wrong}`);
    return Promise.resolve(wrong === undefined ? answer : undefined);
  }

  withProgress<T>(title: string, task: (progress: Progress) => Promise<T>): Promise<T> {
    this.seen.push(`progress: ${title}`);
    const report = (message: string) => void this.seen.push(`  ${message}`);
    return task({ report, signal: this.abort.signal });
  }

  execute(command: string, ...args: unknown[]): Promise<unknown> {
    this.seen.push([`command: ${command}`, ...args.map(String)].join(' '));
    return Promise.resolve(undefined);
  }

  showLog(): void {
    this.seen.push('log');
  }

  runInTerminal(name: string, _file: string, args: readonly string[]): void {
    this.seen.push(`terminal: ${name}: ${args.join(' ')}`);
  }

  runToEnd(name: string, file: string, args: readonly string[]): Promise<number | undefined> {
    this.runInTerminal(name, file, args);
    return Promise.resolve(this.exitCodes.shift());
  }

  showOutput(name: string, _file: string, args: readonly string[]): Promise<void> {
    return this.did(`output: ${name}: ${args.join(' ')}`);
  }

  typeIntoTerminal(_name: string, text: string): void {
    this.seen.push(`typed: ${text}`);
  }

  private did(what: string): Promise<void> {
    this.seen.push(what);
    return Promise.resolve();
  }

  copy = (text: string) => this.did(`copied: ${text}`);
  openFile = (path: string) => this.did(`file: ${path}`);
  showText = (title: string, text: string) => this.did(`text: ${title}: ${text}`);
  openRemoteFolder = (host: string, path: string) => this.did(`folder: ${host}:${path}`);
  openLocalFolder = (path: string) => this.did(`folder: ${path}`);
  folders = () => this.opened;
  hasRemoteSsh = () => this.remoteSsh;
  isConnectedTo = () => this.connected;
  unsaved = () => this.notSaved;
  save = async (files: readonly Place[]) => {
    await this.did(`save: ${files.map(({ path }) => path).join(' ')}`);
    return this.canSave;
  };
  reload = async (files: readonly Place[]) => {
    await this.did(`reload: ${files.map(({ path }) => path).join(' ')}`);
    return this.notReloaded;
  };
  currentFile = () => this.file;
  openInSnapshot = (where: InSnapshot) => this.did(`open: ${uriPath(where)}`);
  browseSnapshot = (where: InSnapshot) => this.did(`browse: ${uriPath(where)}`);
  compare = (left: Side, right: Side, host: string | undefined, title: string) =>
    this.did(`compare: ${shown(left)} ${shown(right)} ${host ?? 'here'}: ${title}`);

  setting = (key: string) => this.settings.get(key);

  setSetting(key: string, value: unknown): Promise<void> {
    this.settings.set(key, value);
    return this.did(`setting: ${key} = ${JSON.stringify(value)}`);
  }

  recall = (key: string) => this.memory.get(key);

  remember(key: string, value: unknown): Promise<void> {
    this.memory.set(key, value);
    return Promise.resolve();
  }

  recallHere = (key: string) => this.memory.get(`here ${key}`);

  rememberHere(key: string, value: unknown): Promise<void> {
    this.memory.set(`here ${key}`, value);
    // Noted with every command: no news to the user.
    if (key === 'under way') return Promise.resolve();
    return this.did(`here: ${key} = ${value === undefined ? 'nothing' : JSON.stringify(value)}`);
  }
}

function shown(side: Side): string {
  return typeof side === 'string' ? side : `snapshot:${uriPath(side)}`;
}
