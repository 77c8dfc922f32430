// The rows of the view Services: what runs on the node and is open on this machine. Pure.

import { servicesOf, type Service } from '../format/serviceText';
import { plain } from '../format/words';
import type { Picture } from '../state/state';
import type { Row } from './row';

/** Empty when nothing runs: then the view is not shown. */
export function serviceRows({ status }: Picture): Row[] {
  return servicesOf(status).map(serviceRow);
}

function serviceRow({ name, text, tint, isRunning, isServer }: Service): Row {
  return {
    id: name,
    label: plain(name),
    description: text,
    tooltip: isRunning ? `${plain(name)}: ${text}\nClick to open it` : `${plain(name)}: ${text}`,
    icon: isServer ? 'globe' : 'plug',
    tint,
    kind: isRunning ? 'service' : 'endedService',
    ref: { name, isServer },
    ...(isRunning ? { command: 'scratchflow.service.open' } : {}),
  };
}
