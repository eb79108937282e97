/**
 * Gauges of deposits: age of the last read block, waiting deposits and token state. Every worker reads them in the
 * background.
 */
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { messageOf } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Database } from '../../platform/database/database.js';

const SAMPLE_MS = 10_000;

/**
 * Selects the newest accepted token, else the one that was read last. A predecessor no longer matters once its
 * successor is accepted.
 */
const SAMPLE_TOKEN = {
  name: 'gauges_token',
  text: `WITH current AS (SELECT contract FROM deposit_token ORDER BY from_block DESC LIMIT 1)
    SELECT coalesce(s.deprecated, false) AS deprecated, coalesce(s.paused, false) AS paused,
      least(coalesce(s.fee_basis_points, 0), 1e9)::float8 AS fee_basis_points,
      (SELECT count(*) FROM blacklisted_address WHERE use = 'deposit')::integer AS deposit,
      (SELECT count(*) FROM blacklisted_address WHERE use = 'sweep')::integer AS sweep,
      (SELECT count(*) FROM blacklisted_address WHERE use = 'receiver')::integer AS receiver,
      coalesce((SELECT sum(i.transfers) FROM ignored_transfer i
        WHERE i.contract = s.successor AND s.successor NOT IN (SELECT contract FROM deposit_token)), 0)::float8 AS successor_ignored
    FROM token_state s WHERE s.contract = coalesce((SELECT contract FROM current),
      (SELECT contract FROM token_state ORDER BY read_at DESC NULLS LAST LIMIT 1))`,
};

interface TokenRow {
  readonly deprecated: boolean;
  readonly paused: boolean;
  readonly fee_basis_points: number;
  readonly deposit: number;
  readonly sweep: number;
  readonly receiver: number;
  readonly successor_ignored: number;
}

/**
 * Uses the index of waiting deposits and the single cursor row. Before the first read, the age is that of the starting
 * block.
 */
const SAMPLE = {
  name: 'gauges_deposits',
  text: `SELECT greatest((SELECT extract(epoch FROM clock_timestamp() - coalesce(read_at, block_at)) FROM deposit_cursor
        WHERE EXISTS (SELECT FROM deposit_account)), 0)::float8 AS age_sec,
      (SELECT count(*) FROM deposit WHERE status = 'held')::integer AS held,
      (SELECT count(*) FROM deposit WHERE status = 'pending' AND reason IN ('no_rate', 'below_peg'))::integer AS without_rate,
      (SELECT count(*) FROM parked_payment)::integer AS parked`,
};

interface SampleRow {
  readonly age_sec: number;
  readonly held: number;
  readonly without_rate: number;
  readonly parked: number;
}

@Injectable()
export class DepositGauges extends RepeatedTask {
  private readonly age: Gauge;
  private readonly waiting: Gauge<'why'>;
  private readonly acts: Gauge<'act'>;
  private readonly fee: Gauge;
  private readonly blacklisted: Gauge<'use'>;
  private readonly successorIgnored: Gauge;

  constructor(
    private readonly database: Database,
    metrics: Metrics,
    log: Log,
  ) {
    super(SAMPLE_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to read deposit gauges');
    });
    const registers = [metrics.registry];
    this.age = new Gauge({
      name: 'deposit_reader_age_seconds',
      help: 'Time since any worker read a block for deposits; 0 without deposits.',
      registers,
    });
    this.waiting = new Gauge({
      name: 'deposits_waiting',
      help: 'Waiting deposits, by `why`: held, rate (none, or USDT below 0.99 dollars), lock (project, balance or row).',
      labelNames: ['why'] as const,
      registers,
    });
    this.acts = new Gauge({
      name: 'token_owner_act',
      help: '1 for an `act` of the token’s owner in force: deprecated, paused.',
      labelNames: ['act'] as const,
      registers,
    });
    this.fee = new Gauge({
      name: 'token_fee_basis_points',
      help: 'The token’s share of each transfer.',
      registers,
    });
    this.blacklisted = new Gauge({
      name: 'token_blacklisted_addresses',
      help: 'Addresses that the token blocks, by `use`; read in turn, some a minute.',
      labelNames: ['use'] as const,
      registers,
    });
    this.successorIgnored = new Gauge({
      name: 'deposits_successor_ignored',
      help: 'Transfers to deposit addresses in a successor token not accepted yet: `cli deposits ignored`.',
      registers,
    });
  }

  protected override async runOnce(): Promise<number> {
    await this.sample();
    return SAMPLE_MS;
  }

  /** Reads the gauges once. */
  async sample(): Promise<void> {
    const [row] = await this.database.query<SampleRow>(SAMPLE);
    this.age.set(row?.age_sec ?? 0);
    this.waiting.set({ why: 'held' }, row?.held ?? 0);
    this.waiting.set({ why: 'rate' }, row?.without_rate ?? 0);
    this.waiting.set({ why: 'lock' }, row?.parked ?? 0);
    const [token] = await this.database.query<TokenRow>(SAMPLE_TOKEN);
    this.acts.set({ act: 'deprecated' }, Number(token?.deprecated ?? false));
    this.acts.set({ act: 'paused' }, Number(token?.paused ?? false));
    this.fee.set(token?.fee_basis_points ?? 0);
    for (const use of ['deposit', 'sweep', 'receiver'] as const) this.blacklisted.set({ use }, token?.[use] ?? 0);
    this.successorIgnored.set(token?.successor_ignored ?? 0);
  }
}
