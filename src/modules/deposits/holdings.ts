/**
 * Balances of deposit addresses: the recorded ones (deposits and all other movements), and those on chain. A reading on
 * chain comes with the range of blocks in which it was taken.
 */
import { Injectable } from '@nestjs/common';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { solidBalancesOf, type SolidBalances } from '../../platform/chain/solid-balances.js';
import { solidHeadOf, TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import type { DepositAsset } from '../../domain/deposit-state.js';
import { Database } from '../../platform/database/database.js';
import { EVERY_MOVEMENT } from './deposit-sql.js';

/** Concurrent reads of one node. */
const CONCURRENT_READS = 8;

export type Amounts = Readonly<Record<DepositAsset, bigint>>;

export interface DepositPlace {
  readonly address: string;
  readonly project_id: string;
  readonly account: bigint;
  readonly place: bigint;
}

/** Each balance was valid at some block from `fromBlock` to `toBlock`. */
export interface ReadHoldings {
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly held: ReadonlyMap<string, SolidBalances>;
}

interface MovedRow {
  readonly address: string;
  readonly asset: DepositAsset;
  readonly amount: string;
}

const PLACES = {
  name: 'deposit_places',
  text: `SELECT address, project_id, account, place FROM deposit_address WHERE address > $1 ORDER BY address LIMIT $2`,
};

const SUMS = {
  name: 'deposit_sums',
  text: `SELECT address, asset, sum(amount)::text AS amount FROM (${EVERY_MOVEMENT}) m
    WHERE address = ANY ($1::text[]) AND block_number <= $2 GROUP BY address, asset`,
};

const CHANGES = {
  name: 'deposit_changes',
  text: `SELECT address, asset, sum(amount)::text AS amount FROM (${EVERY_MOVEMENT}) m
    WHERE address = ANY ($1::text[]) AND block_number > $2 AND block_number <= $3
    GROUP BY address, asset, block_number ORDER BY block_number`,
};

@Injectable()
export class Holdings {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /** Returns addresses in order, after the given one. */
  async readPlaces(after: string, limit: number): Promise<DepositPlace[]> {
    return this.database.query<DepositPlace>(PLACES, [after, limit]);
  }

  /** Returns the recorded balances after a block. */
  async sumRecorded(addresses: readonly string[], block: number): Promise<ReadonlyMap<string, Amounts>> {
    const sums = new Map<string, Amounts>(addresses.map((address) => [address, { TRX: 0n, USDT: 0n }]));
    for (const row of await this.database.query<MovedRow>(SUMS, [addresses, block])) addTo(sums, row);
    return sums;
  }

  /** Returns the recorded balances at `fromBlock` and after each later block up to `toBlock` with a movement. */
  async sumRecordedBetween(
    addresses: readonly string[],
    { fromBlock, toBlock }: Pick<ReadHoldings, 'fromBlock' | 'toBlock'>,
  ): Promise<ReadonlyMap<string, readonly Amounts[]>> {
    const sums = new Map(await this.sumRecorded(addresses, fromBlock));
    const states = new Map([...sums].map(([address, amounts]) => [address, [amounts]]));
    for (const row of await this.database.query<MovedRow>(CHANGES, [addresses, fromBlock, toBlock])) {
      addTo(sums, row);
      const now = sums.get(row.address);
      if (now !== undefined) states.get(row.address)?.push(now);
    }
    return states;
  }

  /** Reads the balances on chain. Throws ChainUnavailableError. */
  async readOnChain(addresses: readonly string[]): Promise<ReadHoldings> {
    return this.client.pool.ask('what deposit addresses hold', async (node) => {
      const from = await solidHeadOf(node);
      const held = new Map<string, SolidBalances>();
      await forEachConcurrently(addresses, CONCURRENT_READS, async (address) => {
        held.set(address, await solidBalancesOf(node, address, this.config.chain.tokenContract));
      });
      const to = await solidHeadOf(node);
      return { fromBlock: from.number, toBlock: to.number, held };
    });
  }
}

function addTo(sums: Map<string, Amounts>, { address, asset, amount }: MovedRow): void {
  const before = sums.get(address) ?? { TRX: 0n, USDT: 0n };
  sums.set(address, { ...before, [asset]: before[asset] + BigInt(amount) });
}
