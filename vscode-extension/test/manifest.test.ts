// What package.json promises to the editor, held against the code.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VERBS } from '../src/cli/protocol';
import { OFFERS } from '../src/verbs';

interface Manifest {
  name: string;
  icon: string;
  homepage: string;
  repository: { url: string };
  bugs: { url: string };
  categories: string[];
  keywords: string[];
  galleryBanner: { color: string; theme: string };
  extensionKind: string[];
  dependencies?: unknown;
  capabilities: { untrustedWorkspaces: { supported: boolean } };
  contributes: {
    commands: { command: string; title: string; category: string }[];
    configuration: { properties: Record<string, { scope: string }> };
    terminal: { profiles: { id: string; title: string; icon: string }[] };
    menus: Record<string, { command: string; when: string }[]>;
    viewsWelcome: { view: string; when: string; contents: string }[];
    walkthroughs: {
      steps: { id: string; media: { markdown: string }; completionEvents?: string[] }[];
    }[];
  };
}

const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'package.json'), 'utf8');
const manifest = JSON.parse(text) as Manifest;
const { commands, configuration, menus, viewsWelcome, walkthroughs } = manifest.contributes;

describe('commands', () => {
  test('are those of the table, with its titles', () => {
    const listed = commands.map(({ command, title }) => ({ command, title }));
    expect(listed).toEqual(OFFERS.map(({ command, title }) => ({ command, title })));
    expect(new Set(commands.map(({ category }) => category))).toEqual(new Set(['Scratchflow']));
  });

  test('need no verb that the CLI does not have', () => {
    const verbs = OFFERS.flatMap(({ verb }) => (verb === undefined ? [] : [verb]));
    expect(verbs.filter((verb) => !(VERBS as readonly string[]).includes(verb))).toEqual([]);
  });

  test('in menus, welcomes and walkthroughs exist', () => {
    const used = [...text.matchAll(/command:(scratchflow\.[\w.]+)/g)].map(
      (match) => match[1] ?? '',
    );
    const inMenus = Object.values(menus).flatMap((menu) => menu.map(({ command }) => command));
    const known = new Set(OFFERS.map(({ command }) => command));
    expect([...used, ...inMenus].filter((command) => !known.has(command))).toEqual([]);
  });
});

test('the id of a snapshot can be copied from its row, also that of a damaged one', () => {
  const items = menus['view/item/context'] ?? [];
  const found = items.filter(({ command }) => command === 'scratchflow.snapshot.copy');
  expect(found.map(({ when }) => when)).toEqual(['viewItem == snapshot || viewItem == damaged']);
});

test('“No cluster is set up” is said only where no other profile is there to switch to', () => {
  const saying = viewsWelcome.filter(({ contents }) => contents.startsWith('No cluster is set up'));
  expect(saying).toHaveLength(1);
  for (const { when } of saying) expect(when).toContain('!scratchflow.hasOtherProfiles');
  const leading = viewsWelcome.filter(({ contents }) => contents.includes('.switchProfile)'));
  expect(leading.map(({ when }) => when)).toEqual([
    expect.stringContaining(' scratchflow.hasOtherProfiles'),
  ]);
});

test('the terminal profile is the one that the code provides', () => {
  const source = readFileSync(join(root, 'src/extension.ts'), 'utf8');
  const provided = [...source.matchAll(/registerTerminalProfileProvider\('([\w.]+)'/g)];
  const ids = manifest.contributes.terminal.profiles.map(({ id }) => id);
  expect(ids).toEqual(provided.map((match) => match[1]));
});

// A view has room for one line and two buttons, however many others are open.
test('without a node, both ways to one are in sight before there is more to read', () => {
  const saying = viewsWelcome.filter(({ contents }) => contents.includes('scratchflow.allocate)'));
  const lines = saying.map(({ contents }) => contents.split('\n'));
  expect(lines).toHaveLength(1);
  expect(lines[0]?.[0]?.length).toBeLessThan(20);
  expect(lines[0]?.slice(1, 3)).toEqual([
    '[Start Working](command:scratchflow.up)',
    '[Allocate Compute Node](command:scratchflow.allocate)',
  ]);
});

test('an empty view offers a backup only where there is something to back up', () => {
  const offering = viewsWelcome.filter(({ contents }) => contents.includes('scratchflow.backup'));
  expect(offering).toHaveLength(1);
  expect(offering.filter(({ when }) => !/&& scratchflow\.hasWorkspace/.test(when))).toEqual([]);
});

test('a folder can change none of the settings, trusted or not', () => {
  const scopes = Object.values(configuration.properties).map(({ scope }) => scope);
  expect(new Set(scopes)).toEqual(new Set(['application']));
  expect(manifest.capabilities.untrustedWorkspaces.supported).toBe(true);
});

test('it runs on the user’s own machine and brings no packages', () => {
  expect(manifest.extensionKind).toEqual(['ui']);
  expect(manifest.dependencies).toBeUndefined();
  expect(manifest.name).toBe('scratchflow');
});

// The editor reads the walkthrough when somebody opens it, and counts a condition that holds by then as one
// that came true unseen: its step would stay open. So each is put once more, to come true by the opening.
test('a step of the walkthrough whose condition holds already is ticked when it is opened', () => {
  const events = walkthroughs.flatMap(({ steps }) =>
    steps.flatMap((step) => step.completionEvents ?? []),
  );
  const opened = ' && activeEditor == gettingStartedPage';
  const conditions = events.filter(
    (event) => event.startsWith('onContext:') && !event.endsWith(opened),
  );
  expect(conditions).toHaveLength(4);
  expect(events).toEqual(expect.arrayContaining(conditions.map((event) => event + opened)));
});

// Without a condition, a step is ticked by a click on its button, also when nothing came of it.
test('the step “Bring your workspace there” is ticked by a workspace on a node that is held', () => {
  const steps = walkthroughs.flatMap(({ steps }) => steps);
  const workspace = steps.find(({ id }) => id === 'workspace');
  expect(workspace?.completionEvents).toContain(
    'onContext:scratchflow.phase == held && scratchflow.hasWorkspace',
  );
});

test('every page of the walkthrough is there', () => {
  const pages = walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.markdown));
  expect(pages.filter((page) => !existsSync(join(root, page)))).toEqual([]);
});

test('what a marketplace shows is there', () => {
  const { bugs, categories, galleryBanner, homepage, icon, keywords, repository } = manifest;
  for (const url of [homepage, repository.url, bugs.url]) expect(url).toMatch(/^https:\/\//);
  expect(categories).toContain('Machine Learning');
  expect(keywords).toContain('slurm');
  expect(galleryBanner).toMatchObject({ color: expect.stringMatching(/^#[\da-f]{6}$/) as string });
  const png = readFileSync(join(root, icon));
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([128, 128]);
});

test('every picture of the README and of the walkthrough is packed', () => {
  const packed = readFileSync(join(root, '.vscodeignore'), 'utf8').split('\n');
  expect(packed).toContain('!images/**');
  const pages = walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.markdown));
  const pictures = ['README.md', ...pages].flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map((match) =>
      join(dirname(page), match[1] ?? ''),
    ),
  );
  expect(pictures.length).toBeGreaterThanOrEqual(6);
  expect(pictures.filter((name) => !name.startsWith('images/'))).toEqual([]);
  expect(pictures.filter((name) => !existsSync(join(root, name)))).toEqual([]);
});

test('that there is nothing yet is said only after an answer', () => {
  const empty = viewsWelcome.filter(({ contents }) => /^No (snapshots|jobs) yet/.test(contents));
  expect(empty).toHaveLength(3);
  for (const { when } of empty) expect(when).toMatch(/^scratchflow\.knows/);
});
