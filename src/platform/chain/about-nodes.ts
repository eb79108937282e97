import type { PortName } from './node-blocks.js';
import type { TronNode } from './node.js';

export const PORTS: readonly PortName[] = ['full', 'solid'];

/** For `/ready`: names the ports of nodes that gave no answer last, with the reason. Empty if all ports answer. */
export function aboutNodes(nodes: readonly TronNode[]): { readonly nodes?: Readonly<Record<string, object>> } {
  const silent = nodes.flatMap((node) => {
    const faults = PORTS.flatMap((port) => {
      const fault = node.portFault(port);
      return fault === undefined ? [] : [[port, fault] as const];
    });
    return faults.length === 0 ? [] : [[node.name, Object.fromEntries(faults)] as const];
  });
  return silent.length === 0 ? {} : { nodes: Object.fromEntries(silent) };
}
