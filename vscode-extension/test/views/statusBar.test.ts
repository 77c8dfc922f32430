import { describe, expect, test } from 'vitest';
import { crashed, missing } from '../../src/cli/problem';
import { moment } from '../../src/format/words';
import { next, UNKNOWN } from '../../src/state/state';
import { statusBar } from '../../src/views/statusBar';
import { NO_NODE, NOW, PENDING, savedLate, seeing, withLeft, WITH_NODE } from '../pictures';

const lost = { is: 'waiting', problem: crashed('x'), retryAtMs: NOW } as const;
const stopped = { is: 'stopped', problem: missing() } as const;

describe('the status bar', () => {
  test('says node, time left and age of the last backup', () => {
    expect(statusBar(seeing(WITH_NODE), NOW)).toMatchObject({
      text: '$(server-process) node-1 · 3 h left · backup 20 min ago',
      alarm: 'none',
    });
  });

  test('says so while a backup runs, wherever it was started', () => {
    const running = { doing: 'backup', host: 'node-1', since: '2026-11-15T11:59:00Z' };
    expect(statusBar(seeing({ ...WITH_NODE, running }), NOW).text).toBe(
      '$(server-process) node-1 · 3 h left · backup is running',
    );
  });

  test('asks the profile that a window was switched to, and shows nothing of the one before', () => {
    const switched = next(seeing(WITH_NODE), { type: 'switched', profile: 'azure' });
    expect(statusBar(switched, NOW).text).toBe('$(sync~spin) asking azure…');
    const answered = next(switched, { type: 'status', data: NO_NODE, atMs: NOW });
    expect(statusBar(answered, NOW).text).toBe('$(circle-slash) no node');
    const unnamed = next(seeing(WITH_NODE), { type: 'switched', profile: '' });
    expect(statusBar(unnamed, NOW).text).toBe('$(sync~spin) asking the cluster…');
  });

  test('says why one waits, and that a click withdraws the request', () => {
    expect(statusBar(seeing(PENDING), NOW)).toMatchObject({
      text: '$(sync~spin) waiting for a node',
      tooltip: 'In Slurm’s queue: Priority. Click to withdraw the request.',
    });
  });

  test('names the profile where there are several', () => {
    expect(statusBar(seeing({ ...WITH_NODE, profiles: 2 }), NOW).text).toBe(
      `$(server-process) ${WITH_NODE.profile} · node-1 · 3 h left · backup 20 min ago`,
    );
    expect(statusBar(seeing({ ...NO_NODE, profiles: 2 }), NOW).text).toBe(
      `$(circle-slash) ${NO_NODE.profile} · no node`,
    );
  });

  test('is red when the node goes soon, yellow when the CLI says that a backup is late', () => {
    expect(statusBar(seeing(withLeft(800)), NOW).alarm).toBe('error');
    expect(statusBar(seeing(savedLate()), NOW)).toMatchObject({ alarm: 'warning' });
  });

  test('stays calm about an unchanged workspace, whose last snapshot is old', () => {
    const snapshots = { ...WITH_NODE.snapshots, last_age_s: 9 * 3600 };
    expect(statusBar(seeing({ ...WITH_NODE, snapshots }), NOW)).toMatchObject({
      text: '$(server-process) node-1 · 3 h left · backup 20 min ago',
      alarm: 'none',
    });
  });

  test('names the profile of this machine where a cluster is set up', () => {
    const here = { ...NO_NODE, alias: null, profile: 'local' };
    expect(statusBar(seeing({ ...here, profiles: 1 }), NOW)).toMatchObject({
      text: '$(vm) local · this machine · backup 20 min ago',
      tooltip: expect.stringContaining('This window has the profile local') as string,
    });
    expect(statusBar(seeing({ ...here, profiles: 0 }), NOW).text).not.toContain('local');
  });

  test('says so when there is no node, no answer, or no CLI', () => {
    expect(statusBar(seeing(NO_NODE), NOW).text).toContain('no node');
    expect(statusBar(seeing({ ...NO_NODE, alias: null }), NOW).text).toBe(
      '$(vm) this machine · backup 20 min ago',
    );
    expect(statusBar(UNKNOWN, NOW).text).toContain('sync~spin');
    expect(statusBar({ ...UNKNOWN, link: stopped }, NOW)).toMatchObject({
      text: '$(desktop-download) scratchflow: install',
      alarm: 'warning',
    });
  });

  test('keeps the picture when the connection is lost, and tells of it in the tooltip', () => {
    const bar = statusBar(next(seeing(WITH_NODE), { type: 'link', link: lost }), NOW);
    expect(bar.text).toContain('node-1');
    expect(bar.tooltip).toContain('tried again');
  });

  test.each([lost, { is: 'paused' } as const])('says since when nobody has looked: %j', (link) => {
    const picture = next(seeing(WITH_NODE), { type: 'link', link });
    const when = `as of ${moment(new Date(NOW).toISOString(), NOW)}`;
    expect(statusBar(picture, NOW + 7200_000).text).toContain(when);
    expect(statusBar(seeing(WITH_NODE), NOW).text).not.toContain('as of');
  });

  test('cannot be given icons by a node’s name', () => {
    const allocation = WITH_NODE.allocation && { ...WITH_NODE.allocation, node: '$(flame)' };
    expect(statusBar(seeing({ ...WITH_NODE, allocation }), NOW).text).not.toContain('$(flame)');
  });
});
