/** How deposits stand, as gauges: when a block was last read, and what waits. Read in the background, by every worker. */
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Repeater } from '../base/repeat.js';
import { messageOf } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Database } from '../store/database.js';

const SAMPLE_MS = 10_000;

/** By the index of what waits, and the one row of the cursor: a reader that never read has the age of where it begins. */
const SAMPLE = {
  name: 'gauges_deposits',
  text: `SELECT greatest((SELECT extract(epoch FROM clock_timestamp() - coalesce(read_at, block_at)) FROM deposit_cursor
        WHERE EXISTS (SELECT FROM deposit_account)), 0)::float8 AS age_sec,
      (SELECT count(*) FROM deposit WHERE status = 'held')::integer AS held,
      (SELECT count(*) FROM deposit WHERE status = 'pending' AND reason IN ('no_rate', 'below_peg'))::integer AS without_rate`,
};

interface SampleRow {
  readonly age_sec: number;
  readonly held: number;
  readonly without_rate: number;
}

@Injectable()
export class DepositGauges implements BeforeApplicationShutdown {
  private readonly repeater: Repeater;
  private readonly age: Gauge;
  private readonly waiting: Gauge<'why'>;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    log: Log,
  ) {
    const registers = [metrics.registry];
    this.age = new Gauge({
      name: 'deposit_reader_age_seconds',
      help: 'Since any worker last read a solid block for deposits; 0 where they are not in use.',
      registers,
    });
    this.waiting = new Gauge({
      name: 'deposits_waiting',
      help: 'Deposits that wait for the operator or for a rate.',
      labelNames: ['why'] as const,
      registers,
    });
    this.repeater = new Repeater({
      run: async () => {
        await this.sample();
        return SAMPLE_MS;
      },
      retryMs: SAMPLE_MS,
      onFailure: (error) => {
        log.warn({ fault: messageOf(error) }, 'the gauges of deposits could not be read');
      },
    });
  }

  start(): void {
    void this.repeater.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeater.stop();
  }

  /** Reads them once. */
  async sample(): Promise<void> {
    const [row] = await this.database.query<SampleRow>(SAMPLE);
    this.age.set(row?.age_sec ?? 0);
    this.waiting.set({ why: 'held' }, row?.held ?? 0);
    this.waiting.set({ why: 'rate' }, row?.without_rate ?? 0);
  }
}
