/** The process's metrics: one registry that every module adds to. Labels contain patterns and codes, never values. */
import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** Default metrics of prom-client that `promtool check metrics` rejects. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

@Injectable()
export class Metrics {
  readonly registry = new Registry();

  private readonly requests = new Counter({
    name: 'http_requests_total',
    help: 'Answered requests, by `method`, `route`, `status`, `error`.',
    labelNames: ['method', 'route', 'status', 'error'] as const,
    registers: [this.registry],
  });

  private readonly duration = new Histogram({
    name: 'http_request_seconds',
    help: 'Time to the end of the answer, by `route`.',
    labelNames: ['route'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30],
    registers: [this.registry],
  });

  /** Number of requests whose budget was charged without Redis. */
  readonly rateLimitFallbacks = new Counter({
    name: 'rate_limit_fallback_total',
    help: 'Rate limits decided without Redis.',
    registers: [this.registry],
  });

  /** Number of nonces checked without Redis. */
  readonly nonceFallbacks = new Counter({
    name: 'nonce_fallback_total',
    help: 'Nonces kept in Postgres instead of Redis.',
    registers: [this.registry],
  });

  readonly suppressedLines = new Counter({
    name: 'log_lines_suppressed_total',
    help: 'Refused requests that the log only counts.',
    registers: [this.registry],
  });

  readonly droppedConnections = new Counter({
    name: 'http_connections_dropped_total',
    help: 'Refused connections, by the `limit` reached: `all`, `address`.',
    labelNames: ['limit'] as const,
    registers: [this.registry],
  });

  constructor() {
    // Present from the start, so that the first drop counts as an increase.
    for (const limit of ['all', 'address']) this.droppedConnections.inc({ limit }, 0);
  }

  /** Collects metrics of event loop, memory and garbage collection. Each root calls it once. */
  collectDefaults(): void {
    collectDefaultMetrics({ register: this.registry });
    // Gauges named like counters. Each is the sum of a metric that remains, such as nodejs_active_handles by type.
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
  }

  /** `labels.error`: the error code of the answer, empty without one. */
  answered(labels: Record<'method' | 'route' | 'error', string> & { readonly status: number }, seconds: number): void {
    this.requests.inc(labels);
    this.duration.observe({ route: labels.route }, seconds);
  }
}

/** Adds a gauge whose value is read at each scrape. */
export function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

/** Adds a gauge with one label. `read` returns each value of the label with its figure. */
export function addGaugeBy(
  registry: Registry,
  { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
  read: () => Iterable<readonly [value: string, figure: number]>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [value, figure] of read()) this.set({ [label]: value }, figure);
    },
  });
}
