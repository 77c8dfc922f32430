import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobRows } from '../../src/views/jobs';
import type { Row } from '../../src/views/row';
import { DONE, LISTED, SWEEP } from '../jobs';
import { NOW } from '../pictures';

const shown = ({ label, description, icon }: Row) => `${icon} ${label}: ${description}`;

test('the newest job comes first, with its state in the words of the CLI', () => {
  const rows = jobRows(LISTED, NOW);
  expect(rows.map(shown).map((text) => text.replace(/ · today.*/, ''))).toEqual([
    'clock new: id-xx · SUBMITTING',
    'sync~spin sweep: 41 · 1 RUNNING, 1 FAILED · node-1 +1',
    'pass eval: 40 · COMPLETED',
  ]);
});

test('beneath an array are its tasks, each with its parameters and why it failed', async () => {
  const [, sweep, done] = jobRows(LISTED, NOW);
  const tasks = (await sweep?.children?.()) ?? [];
  expect(tasks.map(shown)).toEqual([
    'sync~spin 41_0: RUNNING · lr=0.1 · node-1',
    'error 41_1: FAILED · lr=1 · node-2',
  ]);
  expect(tasks[1]?.tooltip).toContain('exit code 3');
  expect(tasks[1]?.ref).toEqual({ wanted: 'id-41_1', handle: '41_1', name: 'sweep' });
  expect(done?.children).toBeUndefined();
  expect(done?.command).toBe('scratchflow.job.show');
});

test('a failed task shows while others still run', () => {
  const [, sweep] = jobRows(LISTED, NOW);
  expect(sweep?.tint).toBe('bad');
});

test('a condition that the CLI does not give is unknown, and a state of its own is shown as it is', () => {
  const { job, number, name, time, command, snapshot, directory, profile } = DONE;
  const bare = { job, number, name, time, command, snapshot, directory, profile, state: 'ODD' };
  const [row] = jobRows({ jobs: [bare] }, NOW);
  expect(row).toMatchObject({ icon: 'question' });
  expect(row?.description).toContain('ODD');
});

test('foreign text stays text', () => {
  const [row] = jobRows({ jobs: [{ ...DONE, name: '$(flame)', command: ['[a](b)'] }] }, NOW);
  expect(row?.label).not.toContain('$(');
  expect(row?.tooltip).not.toContain('](');
});

test('what is left out and what cannot be read is said', () => {
  const rows = jobRows({ jobs: [], left_out: 3, damaged: ['id-1'] }, NOW);
  expect(rows.map(({ label }) => label)).toEqual([
    '1 job cannot be read',
    '3 older jobs not shown',
  ]);
  expect(rows.every(({ kind }) => kind === undefined)).toBe(true);
});

test('without jobs the view is empty, and its welcome is shown', () => {
  expect(jobRows({ jobs: [] }, NOW)).toEqual([]);
});

test('each row has the menu that fits it', async () => {
  const rows = jobRows(LISTED, NOW);
  const tasks = (await rows[1]?.children?.()) ?? [];
  const offered = [...rows, ...tasks].map((row) => `${row.label}: ${menuOf(row.kind ?? '')}`);
  const always = 'show logs debug compare copy rerun';
  expect(offered).toEqual([
    `new: ${always} cancel`,
    `sweep: ${always} rerunFailed cancel`,
    `eval: ${always}`,
    `41_0: ${always} cancel`,
    `41_1: ${always}`,
  ]);
});

test('rows of several tasks stay apart', async () => {
  const [row] = jobRows({ jobs: [SWEEP] }, NOW);
  const ids = [row, ...((await row?.children?.()) ?? [])].map((one) => one?.id);
  expect(ids).toEqual(['id-41', 'id-41_0', 'id-41_1']);
});

/** The commands that package.json offers for a row of that kind, without those on the row itself. */
function menuOf(kind: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
  const manifest = JSON.parse(text) as {
    contributes: { menus: Record<string, { command: string; when: string; group: string }[]> };
  };
  const entries = manifest.contributes.menus['view/item/context'] ?? [];
  return entries
    .filter(({ when, group }) => when.includes('jobsView') && !group.startsWith('inline'))
    .filter(({ when }) => new RegExp(/=~ \/(.*?)\/(?: |$)/.exec(when)?.[1] ?? '(?!)').test(kind))
    .map(({ command }) => command.replace('scratchflow.job.', ''))
    .join(' ');
}
