/**
 * Checks delegations on chain before a reclaim. TRON merges all delegations of one resource by one wallet to one
 * receiver. If a foreign act already ended a delegation, undelegating it would take the stake of another order. So
 * before a reclaim is built or sent, the pair's amount on chain must cover all of its open legs, this one included.
 */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError, NodeError } from '../../../platform/chain/errors.js';
import type { TronNode } from '../../../platform/chain/node.js';
import { delegatedSunAt, placeOf, solidHeadOf, TronClient } from '../../../platform/chain/tron.client.js';
import { Config } from '../../../platform/config/config.js';
import { messageOf } from '../../../domain/errors.js';
import { delegationKind, type Resource } from '../../../domain/resource.js';
import { Log } from '../../../platform/observability/logger.js';
import { Database } from '../../../platform/database/database.js';
import { solidDelegationSun } from '../../../platform/chain/solid-delegations.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { groupBy } from '../../../platform/support/group-by.js';
import { RecentActs } from '../follow/recent-acts.js';
import type { View } from '../follow/chain-view.js';

/** A wallet, a receiver, and the resource that the one delegates to the other. */
export interface Pair {
  readonly walletId: number;
  readonly walletAddress: string;
  readonly receiver: string;
  readonly resource: Resource;
}

/** Answers are short. The request budget that all processes share limits their rate. */
const PAIR_READS_MAX = 32;
/** A height above every block. */
const HEIGHT_MAX = 9_223_372_036_854_775_807n;

/**
 * The amount that open legs of pairs hold at height $4. A delivery under way counts if its block is known to be at or
 * below it; $5 holds such ids. It also counts if it expires too early to have been built after the solid block ($6). A
 * reclaim under way counts as not made unless its block is known.
 */
const HELD = {
  name: 'reclaim_guard_held',
  text: `SELECT v.place::int, coalesce(sum(l.amount_sun) FILTER (WHERE
        CASE d.status WHEN 'sending' THEN d.txid = ANY ($5::bytea[]) OR d.expires_at < $6 ELSE d.block_number <= $4 END
        AND NOT coalesce(CASE r.status WHEN 'sending' THEN r.txid = ANY ($5::bytea[]) ELSE r.block_number <= $4 END, false)
      ), 0)::bigint AS held
    FROM unnest($1::integer[], $2::text[], $3::integer[], $7::text[]) AS v(wallet_id, receiver, place, kind)
    LEFT JOIN open_leg l ON l.wallet_id = v.wallet_id AND l.receive_address = v.receiver AND l.kind = v.kind
      AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
    LEFT JOIN open_chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status IN ('sending', 'included', 'solid')
    LEFT JOIN open_chain_tx r ON r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')
    GROUP BY v.place`,
};

/** Deliveries of a pair that count as held although their block is unknown. */
const PENDING = {
  name: 'reclaim_guard_pending',
  text: `SELECT d.txid, l.amount_sun FROM open_leg l JOIN open_chain_tx d ON d.leg_id = l.id
    WHERE l.wallet_id = $1 AND l.receive_address = $2 AND l.kind = $6
      AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
      AND d.purpose = 'delegate' AND d.status = 'sending' AND d.txid <> ALL ($3::bytea[]) AND d.expires_at < $4
    ORDER BY d.id LIMIT $5`,
};
/** Further deliveries of one pair stay counted. */
const PENDING_MAX = 20;
const SENT_TRANSACTION = 'a transaction';

/** A pair's amount on chain, and the blocks that the records are compared at. */
interface Reading {
  readonly pair: Pair;
  readonly sun: bigint;
  readonly height: bigint;
  readonly txids: readonly string[];
  /** Deliveries that expire earlier may be in the amount although their block is unknown. */
  readonly mayStandBefore: Date | 'infinity';
}

/** The amounts that one node returned, and its last error. */
interface Sums {
  readonly read: ReadonlyMap<Pair, bigint>;
  readonly fault: NodeError | undefined;
}

export type Verdicts = ReadonlyMap<string, Verdict>;
/** `short`: the chain holds less than the open legs. `unknown`: no node answered. */
export type Verdict = 'covered' | 'short' | 'unknown';

export const pairKey = (pair: Pair): string => `${pair.walletId.toString()}/${pair.receiver}/${pair.resource}`;

@Injectable()
export class ReclaimGuard {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly recentActs: RecentActs,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Judges each distinct pair once. */
  async judge(pairs: readonly Pair[], view: View): Promise<Verdicts> {
    const distinct = [...new Map(pairs.map((pair) => [pairKey(pair), pair])).values()];
    if (distinct.length === 0) return new Map();
    const verdicts = new Map<string, Verdict>(distinct.map((pair) => [pairKey(pair), 'unknown']));
    const { readings, uncovered } = await this.readSolid(distinct);
    // Fall back to the head's own state, judged more strictly. The blocks since the solid one are missing (a worker's
    // first minute), or the solid port does not answer.
    if (uncovered.length > 0) readings.push(...(await this.readHead(uncovered, view)));
    await this.compare(readings, verdicts);
    return verdicts;
  }

  /** Reads the solid amount and adds the changes of later blocks: exact at the height of the newest block. */
  private async readSolid(pairs: readonly Pair[]): Promise<{ readings: Reading[]; uncovered: Pair[] }> {
    const readings: Reading[] = [];
    await this.ask('solid delegations', pairs, async (node, left) => {
      const before = await solidHeadOf(node);
      const sums = await readSums(node, left, (pair) =>
        solidDelegationSun(node, pair.walletAddress, pair.receiver, pair.resource),
      );
      const after = await solidHeadOf(node);
      if (after.number < before.number) throw new NodeError(node.name, 'unhealthy', 'its solid head went back');
      for (const [pair, sun] of sums.read) {
        const since = this.recentActs.since(before.number, pair.walletAddress);
        if (since !== undefined && since.height >= after.number) {
          const acts = since.acts.filter(
            ({ receiver, resource }) => receiver === pair.receiver && resource === pair.resource,
          );
          // A change that became solid during the read may or may not be in the amount: take the lower value.
          const changes = acts.map(({ blockNumber, changeSun }) =>
            blockNumber <= after.number && changeSun > 0n ? 0n : changeSun,
          );
          readings.push({
            pair,
            sun: changes.reduce((sum, change) => sum + change, sun),
            height: BigInt(since.height),
            txids: acts.map(({ txid }) => txid),
            mayStandBefore: new Date(after.timestampMs + this.config.chain.expirationSec * 1000),
          });
        }
      }
      return sums;
    });
    const read = new Set(readings.map(({ pair }) => pair));
    return { readings, uncovered: pairs.filter((pair) => !read.has(pair)) };
  }

  /** Reads the amount at the head, including pending transactions. Everything that may be in it counts as in it. */
  private async readHead(pairs: readonly Pair[], view: View): Promise<Reading[]> {
    const readings: Reading[] = [];
    await this.ask('delegations', pairs, async (node, left) => {
      const sums = await readSums(node, left, (pair) =>
        delegatedSunAt(node, pair.walletAddress, pair.receiver, pair.resource),
      );
      await mustBeAt(node, view.head.number);
      for (const [pair, sun] of sums.read) {
        readings.push({ pair, sun, height: HEIGHT_MAX, txids: [], mayStandBefore: 'infinity' });
      }
      return sums;
    });
    return readings;
  }

  /**
   * Asks one node after the other for the pairs not read yet. A pair that no node answers does not affect the others.
   */
  private async ask(
    what: string,
    pairs: readonly Pair[],
    read: (node: TronNode, left: readonly Pair[]) => Promise<Sums>,
  ): Promise<void> {
    let left = pairs;
    try {
      await this.client.pool.ask(what, async (node) => {
        const sums = await read(node, left);
        left = left.filter((pair) => !sums.read.has(pair));
        if (sums.fault !== undefined) throw sums.fault;
      });
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      this.log.warn(
        { fault: messageOf(error), count: left.length, effect: 'reclaims wait' },
        'failed to read delegations on chain',
      );
    }
  }

  /**
   * Returns the amount of deliveries under way that no node has in a block. Looked up after the amount was read: a
   * transaction in no block now was in no block then. If a node cannot say, the delivery stays counted.
   */
  private async absentSun({ pair, txids, mayStandBefore }: Reading): Promise<bigint> {
    const pending = await this.database.query<{ txid: Buffer; amount_sun: bigint }>(PENDING, [
      pair.walletId,
      pair.receiver,
      txids.map((txid) => Buffer.from(txid, 'hex')),
      mayStandBefore,
      PENDING_MAX,
      delegationKind(pair.resource),
    ]);
    let sum = 0n;
    for (const { txid, amount_sun: amountSun } of pending) {
      const places = await this.client.pool
        .askEach(SENT_TRANSACTION, async (node) => placeOf(node, txid.toString('hex')))
        .catch((error: unknown) => {
          if (error instanceof ChainUnavailableError) return undefined;
          throw error;
        });
      if (places?.every((place) => place === undefined) === true) sum += amountSun;
    }
    return sum;
  }

  /** Reads the records after the chain: every transaction on chain by then is already recorded as sent. */
  private async compare(readings: readonly Reading[], verdicts: Map<string, Verdict>): Promise<void> {
    const groups = groupBy(readings, ({ height, mayStandBefore }) => `${height.toString()}/${String(mayStandBefore)}`);
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const rows = await this.database.query<{ place: number; held: bigint }>(HELD, [
        group.map(({ pair }) => pair.walletId),
        group.map(({ pair }) => pair.receiver),
        group.map((_, place) => place),
        first.height,
        group.flatMap(({ txids }) => txids.map((txid) => Buffer.from(txid, 'hex'))),
        first.mayStandBefore,
        group.map(({ pair }) => delegationKind(pair.resource)),
      ]);
      for (const { place, held } of rows) {
        const reading = group[place];
        if (reading === undefined) continue;
        const { pair, sun } = reading;
        const isCovered = sun >= held || sun >= held - (await this.absentSun(reading));
        verdicts.set(pairKey(pair), isCovered ? 'covered' : 'short');
        if (isCovered) continue;
        const facts = {
          wallet: pair.walletAddress,
          receiver: pair.receiver,
          resource: pair.resource,
          chainSun: sun.toString(),
        };
        this.log.warn(
          { ...facts, heldSun: held.toString(), reason: 'less is delegated than open orders hold' },
          'reclaim withheld',
        );
      }
    }
  }
}

/** An unreadable pair does not affect the others. A throttling node is asked no further. */
async function readSums(node: TronNode, pairs: readonly Pair[], sumOf: (pair: Pair) => Promise<bigint>): Promise<Sums> {
  const read = new Map<Pair, bigint>();
  let fault: NodeError | undefined;
  await forEachConcurrently(pairs, PAIR_READS_MAX, async (pair) => {
    if (fault !== undefined && node.isSilenced) return;
    try {
      read.set(pair, await sumOf(pair));
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      fault = error;
    }
  });
  return { read, fault };
}

async function mustBeAt(node: TronNode, height: number): Promise<void> {
  const head = await node.readHead();
  if (head.number < height) throw new NodeError(node.name, 'unhealthy', 'its head is behind the one that was followed');
}
