// The workbench as a person uses it: palette, notifications, side bar, status bar.

import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import {
  chromium,
  type BrowserContext,
  type FrameLocator,
  type Locator,
  type Page,
} from 'playwright-core';
import type { Server } from './server';
import { insist, until } from './until';

const IMAGES = resolve('../docs/images');
const SHIPPED = resolve('images');
/** Pictures in the documentation are rewritten only when asked for: a test run leaves the tree clean. */
export const WRITES_IMAGES = process.env.SCRATCHFLOW_IMAGES === '1';

/** What it is called in the list, on the workbench and on a page of an extension. */
const THEMES = {
  light: { label: 'Light Modern', workbench: 'vs', page: 'vscode-light' },
  dark: { label: 'Dark Modern', workbench: 'vs-dark', page: 'vscode-dark' },
  hc: { label: 'Dark High Contrast', workbench: 'hc-black', page: 'vscode-high-contrast' },
  'hc-light': {
    label: 'Light High Contrast',
    workbench: 'hc-light',
    page: 'vscode-high-contrast-light',
  },
} as const;

export type Theme = keyof typeof THEMES;

/** What a window is opened on: a folder as this address shows it. The browser's own files go to `root`. */
export type Opened = Pick<Server, 'root' | 'url' | 'folder'>;

const OUR_STATUS = '[id="scratchflow.scratchflow.status"]';

export class Workbench {
  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
    private readonly opened: Opened,
    private readonly loaded: string,
  ) {}

  /** With the server's own folder, or with another one. */
  static async open(server: Opened, folder = server.folder): Promise<Workbench> {
    const workbench = await Workbench.launch(server);
    await workbench.load(folder);
    return workbench;
  }

  /** A browser that shows nothing yet. What `loaded` selects is there when a window is. */
  static async launch(server: Opened, loaded = OUR_STATUS): Promise<Workbench> {
    const context = await chromium.launchPersistentContext(join(server.root, 'chromium'), {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      headless: true,
      // Wide enough for a list to choose from and the side bar, side by side.
      viewport: { width: 1400, height: 860 },
      args: [
        ...['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
        ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
        // Nothing but loopback is ever looked up.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      ],
    });
    const page = context.pages()[0] ?? (await context.newPage());
    return new Workbench(context, page, server, loaded);
  }

  /** Another window of the same browser. */
  inWindow(page: Page): Workbench {
    return new Workbench(this.context, page, this.opened, this.loaded);
  }

  /** Opens the folder; settings are read at this moment. */
  async load(folder = this.opened.folder): Promise<void> {
    await this.page.goto(`${this.opened.url}/?folder=${folder}`);
    await this.page.locator(this.loaded).first().waitFor({ timeout: 60_000 });
  }

  get status(): Locator {
    return this.page.locator(OUR_STATUS);
  }

  async statusSays(text: string | RegExp, timeout = 60_000): Promise<void> {
    await this.status.filter({ hasText: text }).waitFor({ timeout });
  }

  async command(title: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input[aria-autocomplete]');
    // The one of that name: the palette may put another first.
    const name = new RegExp(`^${title}(\\.\\.\\.)?$`);
    const row = this.page.locator('.quick-input-list .label-name', { hasText: name }).first();
    // A page of an extension that takes the focus while it is loaded closes the palette: then again.
    await insist(async () => {
      await this.page.keyboard.press('F1');
      await input.waitFor({ timeout: 5_000 });
      await input.fill(`>${title}`, { timeout: 5_000 });
      await row.click({ timeout: 5_000 });
    });
    await this.moveMouseAway();
    // A palette that is still closing would swallow the next one's keys.
    await until('the palette is closed', async () => {
      if (!(await this.quickInput.isVisible())) return true;
      return !(await input.inputValue({ timeout: 500 }).catch(() => '')).startsWith('>');
    });
  }

  get quickInput(): Locator {
    return this.page.locator('.quick-input-widget');
  }

  choice(text: string | RegExp): Locator {
    return this.page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
  }

  toast(text: string | RegExp): Locator {
    return this.page
      .locator('.notifications-toasts .notification-list-item', { hasText: text })
      .first();
  }

  /** What a notification says, also one that stayed in the bell: VS Code shows four of a second at most. */
  async said(text: string): Promise<string> {
    await this.command('Notifications: Show Notifications');
    const item = this.page
      .locator('.notifications-center .notification-list-item', { hasText: text })
      .first();
    await item.waitFor();
    return item.innerText();
  }

  async press(toast: Locator, button: string): Promise<void> {
    await toast.hover();
    await toast.getByRole('button', { name: button }).click();
  }

  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  async clearToasts(): Promise<void> {
    await this.command('Notifications: Clear All Notifications');
  }

  async openSideBar(): Promise<void> {
    const tab = this.page.locator('.activitybar').getByRole('tab', { name: 'scratchflow' });
    if ((await tab.getAttribute('aria-selected')) !== 'true') await tab.click();
  }

  rows(text: string | RegExp): Locator {
    return this.page.locator('.pane-body .monaco-list-row', { hasText: text });
  }

  /** Clicks a row and leaves it: the hover of a row that the mouse rests on covers the next ones. */
  async openRow(row: Locator): Promise<void> {
    await row.click();
    await this.page.mouse.move(1, 1);
  }

  row(text: string | RegExp): Locator {
    return this.rows(text).first();
  }

  /** Presses a button of a row; again when the view was drawn anew under the mouse and nothing came of it. */
  async pressOn(row: Locator, button: string, follows: Locator): Promise<void> {
    await insist(async () => {
      await row.hover({ timeout: 5_000 });
      await row.getByRole('button', { name: button }).click({ timeout: 5_000 });
      await follows.waitFor({ timeout: 15_000 });
    });
  }

  /** A file in an editor, by its whole path. */
  async openFile(path: string): Promise<void> {
    const tab = this.page.locator('.tab.active', { hasText: basename(path) });
    // The dialog takes what is typed for a name only when it has listed the directory.
    await insist(async () => {
      await this.page.keyboard.press('Escape');
      await this.command('File: Open File');
      await this.quickInput.locator('input[aria-autocomplete]').fill(path);
      await this.choice(basename(path)).click({ timeout: 10_000 });
      await tab.waitFor({ timeout: 10_000 });
    });
    await this.moveMouseAway();
  }

  /** A file or folder in the Explorer. */
  explorer(name: string): Locator {
    return this.page.locator('.explorer-folders-view .monaco-list-row', {
      has: this.page.locator('.label-name', { hasText: new RegExp(`^${name}$`) }),
    });
  }

  /** A view of the side bar, by its title. */
  pane(title: string): Locator {
    return this.page.locator('.split-view-view .pane', {
      has: this.page.locator(`.pane-header h3.title[title="${title}"], .pane-header .title`, {
        hasText: new RegExp(`^${title}$`),
      }),
    });
  }

  /** Opens a view of the side bar that is closed, or closes it. */
  async fold(title: string): Promise<void> {
    await this.pane(title).locator('.pane-header').first().click();
    await this.moveMouseAway();
  }

  /** What a terminal shows. */
  get terminal(): Locator {
    return this.page.locator('.part.panel .xterm-rows');
  }

  get sideBar(): Locator {
    return this.page.locator('.part.sidebar');
  }

  get dashboard(): FrameLocator {
    return this.page.frameLocator('iframe.webview').frameLocator('iframe#active-frame');
  }

  /** The tick of a step of our walkthrough. */
  tick(step: string, isDone: boolean): Locator {
    const id = `scratchflow.scratchflow#firstHour#${step}`;
    return this.page.locator(`[data-done-step-id="${id}"][aria-checked="${isDone}"]`).first();
  }

  /** Chooses a theme as a person does, and waits until the dashboard, if it is there, has it too. */
  async useTheme(theme: Theme): Promise<void> {
    const { label, workbench, page } = THEMES[theme];
    const wanted = this.page.locator(`.monaco-workbench.${workbench}`);
    if ((await wanted.count()) > 0) return;
    await this.command('Preferences: Color Theme');
    await this.quickInput.getByPlaceholder('Select Color Theme').fill(label);
    await this.choice(label).waitFor();
    await this.page.keyboard.press('Enter');
    await wanted.waitFor();
    if ((await this.page.locator('iframe.webview').count()) > 0)
      await this.dashboard.locator(`body[data-vscode-theme-kind="${page}"]`).waitFor();
  }

  /** A picture of what is there now, in each theme. */
  async pictures(name: string): Promise<void> {
    for (const theme of this.themes) {
      await this.useTheme(theme);
      await this.picture(`${name}-${theme}`);
    }
  }

  /** For what closes when another theme is chosen: to be opened in each. */
  get themes(): readonly Theme[] {
    return WRITES_IMAGES ? ['hc', 'hc-light', 'dark', 'light'] : ['light'];
  }

  /** Gives the side bar the width that a person would give it. */
  async widenSideBar(byPixels: number): Promise<void> {
    const box = await this.sideBar.boundingBox();
    if (!box) return;
    await this.page.mouse.move(box.x + box.width, 400);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width + byPixels, 400, { steps: 5 });
    await this.page.mouse.up();
  }

  /** A picture for the documentation. */
  async picture(name: string): Promise<void> {
    await this.shoot(join(IMAGES, `${name}.png`), this.page);
  }

  /** A picture of a part, which is shipped with the extension: for its README and its walkthrough. */
  async shippedPicture(name: string, part: Locator | Page = this.page): Promise<void> {
    await this.shoot(join(SHIPPED, `${name}.png`), part);
  }

  private async shoot(path: string, part: Locator | Page): Promise<void> {
    if (!WRITES_IMAGES) return;
    mkdirSync(dirname(path), { recursive: true });
    await this.moveMouseAway();
    const hover = this.page.locator('.monaco-hover:visible');
    await until('no hover is in the way', async () => (await hover.count()) === 0);
    await part.screenshot({ path, animations: 'disabled' });
  }

  /** To where nothing shows a hover, nor will when a list opens there. */
  async moveMouseAway(): Promise<void> {
    await this.page.mouse.move(1340, 500);
  }

  async failure(name: string): Promise<void> {
    const path = join(tmpdir(), `scratchflow-e2e-${name.replaceAll(/\W+/g, '-')}.png`);
    console.error(`what it looked like: ${path}`);
    await this.page.screenshot({ path }).catch(() => undefined);
  }

  close(): Promise<void> {
    return this.context.close();
  }
}
