// The beginning that most tests share: a cluster, a laptop whose ssh knows it, and a window on the laptop.

import type { Cluster } from './cluster';
import type { Server } from './server';
import type { Undo } from './undo';
import { Workbench } from './workbench';

interface Parts {
  readonly cluster: Cluster;
  readonly server: Server;
  readonly undo: Undo;
}

interface Given {
  readonly settings: Record<string, unknown>;
  /** What the cluster is like, as variables of scripts/minicluster. */
  readonly like?: Record<string, string>;
  /** What a user has typed in a terminal before the window opens. */
  readonly before?: () => Promise<void>;
}

export async function openOnCluster(parts: Parts, given: Given): Promise<Workbench> {
  const { cluster, server, undo } = parts;
  undo.later(() => cluster.stop());
  await cluster.start(given.like);
  cluster.introduceTo(server.home);
  undo.later(() => server.stop());
  await server.start({ settings: given.settings });
  await given.before?.();
  const workbench = await Workbench.open(server);
  undo.later(() => workbench.close());
  return workbench;
}
