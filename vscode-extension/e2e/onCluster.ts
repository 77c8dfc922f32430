// The beginning that most tests share: a cluster, a laptop whose ssh knows it, and a window on the laptop.

import type { Cluster } from './cluster';
import type { Server } from './server';
import { together, type Undo } from './undo';
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
  undo.later(() => server.stop());
  await together(cluster.start(given.like), server.start({ settings: given.settings }));
  cluster.introduceTo(server.home);
  await given.before?.();
  const workbench = await Workbench.open(server);
  undo.later(() => workbench.close());
  return workbench;
}
