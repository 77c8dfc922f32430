import { describe, expect, test } from 'vitest';
import { crashed, missing } from '../../src/cli/problem';
import { next, UNKNOWN } from '../../src/state/state';
import { statusBar } from '../../src/views/statusBar';
import { NO_NODE, NOW, seeing, withLeft, WITH_NODE } from '../pictures';

const lost = { is: 'waiting', problem: crashed('x'), retryAtMs: NOW } as const;
const stopped = { is: 'stopped', problem: missing() } as const;

describe('the status bar', () => {
  test('says node, time left and age of the last backup', () => {
    expect(statusBar(seeing(WITH_NODE), NOW)).toMatchObject({
      text: '$(server-process) node-1 · 3 h left · backup 20 min ago',
      alarm: 'none',
    });
  });

  test('is red when the node goes soon, yellow when a backup is late', () => {
    expect(statusBar(seeing(withLeft(800)), NOW).alarm).toBe('error');
    expect(statusBar(seeing(WITH_NODE), NOW + 3600_000)).toMatchObject({ alarm: 'warning' });
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

  test('cannot be given icons by a node’s name', () => {
    const allocation = WITH_NODE.allocation && { ...WITH_NODE.allocation, node: '$(flame)' };
    expect(statusBar(seeing({ ...WITH_NODE, allocation }), NOW).text).not.toContain('$(flame)');
  });
});
