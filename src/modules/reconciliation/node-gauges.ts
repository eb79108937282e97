/** Exports the state of the nodes as gauges, and logs changes once: nodes in use, contradictions, missing history. */
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { PORTS } from '../../platform/chain/about-nodes.js';
import { NodeError } from '../../platform/chain/errors.js';
import { History } from '../../platform/chain/history.js';
import type { TronNode } from '../../platform/chain/node.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics, addGauge, addGaugeBy } from '../../platform/observability/metrics.js';

@Injectable()
export class NodeGauges {
  private readonly withoutHistory = new Set<TronNode>();

  constructor(
    private readonly client: TronClient,
    private readonly history: History,
    private readonly log: Log,
    { registry }: Metrics,
  ) {
    const { nodes, agreement } = client.pool;
    // Reads only cached state: a scrape sends no node request.
    const each = (name: string, help: string, read: (node: TronNode) => number): void => {
      addGaugeBy(registry, { name, help, label: 'node' }, () => nodes.map((node) => [node.name, read(node)]));
    };
    const highest = (): number => Math.max(0, ...nodes.map((node) => node.head?.number ?? 0));
    each('chain_node_lag_blocks', 'Blocks behind the highest head, by `node`.', (node) =>
      node.head === undefined ? highest() : highest() - node.head.number,
    );
    each('chain_node_stalled_seconds', 'Time since a `node`’s head moved.', (node) => node.stalledMs / 1000);
    each(
      'chain_node_solid_stalled_seconds',
      'Time since a `node`’s solid head moved, while it is far below another’s; else 0.',
      (node) => agreement.solidStalledMs(node) / 1000,
    );
    each('chain_node_healthy', '1 while the service uses a `node`.', (node) => (node.isHealthy ? 1 : 0));
    new Gauge({
      name: 'chain_node_port_up',
      help: '0 while a `port` (`full`, `solid`) of a `node` does not answer.',
      labelNames: ['node', 'port'],
      registers: [registry],
      collect() {
        for (const node of nodes)
          for (const port of PORTS) this.set({ node: node.name, port }, node.portFault(port) === undefined ? 1 : 0);
      },
    });
    each('chain_node_without_history', '1 while a `node` keeps no transaction history.', (node) =>
      this.withoutHistory.has(node) ? 1 : 0,
    );
    each('chain_node_outvoted', '1 while a `node` is unused because two others contradict it.', (node) =>
      agreement.suspects.has(node) ? 1 : 0,
    );
    addGauge(registry, 'chain_nodes_disputed', '1 while nodes contradict each other without a majority.', () =>
      agreement.dispute === undefined ? 0 : 1,
    );
  }

  /** Finds the witnesses that keep no history, by a recent reading or a new one. Logs each change. */
  async checkHistory(): Promise<void> {
    // A node that does not answer shows in its other gauges.
    const asked = this.client.pool.agreement.witnesses.filter((node) => node.isHealthy);
    await Promise.all(
      asked.map(async (node) => {
        try {
          this.judge(node, await this.history.keeps(node));
        } catch (error) {
          if (!(error instanceof NodeError)) throw error;
        }
      }),
    );
  }

  private judge(node: TronNode, keeps: boolean): void {
    if (keeps === !this.withoutHistory.has(node)) return;
    if (keeps) {
      this.withoutHistory.delete(node);
      this.log.info({ node: node.name }, 'node keeps transaction history again');
      return;
    }
    this.withoutHistory.add(node);
    this.log.error(
      { node: node.name, effect: 'a transaction missing there proves nothing' },
      'node keeps no transaction history',
    );
  }
}
