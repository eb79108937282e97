/**
 * Rule I7: the delegations of our open legs equal those on chain, per wallet, receiver and resource. Compares with
 * solid state, so that a reorg cannot change the result; pending transactions may or may not count. Each disagreement
 * is read several times, in records and chain, before it is reported.
 */
import { SOLID_HEIGHT, type JudgedPair, type WalletRow } from '../pool/shortfall.js';
import { delegationKind, RESOURCES, type Resource } from '../../domain/resource.js';
import { sleep } from '../../platform/support/clock.js';
import { NodeError } from '../../platform/chain/errors.js';
import type { TronNode } from '../../platform/chain/node.js';
import { solidHeadOf, type TronClient } from '../../platform/chain/tron.client.js';
import type { Database } from '../../platform/database/database.js';
import { findingOf, type CheckResult, type Finding } from './finding.js';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { solidDelegatedSun, solidDelegationSun, solidReceivers } from '../../platform/chain/solid-delegations.js';

/** The sums that the records allow the chain to show for one receiver. */
interface Expected {
  readonly certain: bigint;
  /** Delegations and undelegations that may or may not be in the solid chain yet. */
  readonly moving: bigint;
}

const NOTHING: Expected = { certain: 0n, moving: 0n };

function isWithin({ certain, moving }: Expected, onChain: bigint): boolean {
  return onChain >= certain && onChain <= certain + moving;
}

interface ExpectedRow {
  readonly receive_address: string;
  readonly certain: bigint;
  readonly moving: bigint;
}

const EXPECTED = `SELECT l.receive_address,
    coalesce(sum(l.amount_sun) FILTER (WHERE d.status = 'solid' AND coalesce(r.status, 'built') IN ('built', 'signed')), 0)::bigint AS certain,
    coalesce(sum(l.amount_sun) FILTER (WHERE d.status IN ('sending', 'included')
      OR (d.status = 'solid' AND r.status IN ('sending', 'included'))), 0)::bigint AS moving
  FROM leg l
  LEFT JOIN chain_tx d ON d.leg_id = l.id AND d.purpose = 'delegate' AND d.status NOT IN ('dead', 'dropped')
  LEFT JOIN chain_tx r ON r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status NOT IN ('dead', 'dropped')
  WHERE l.wallet_id = $1 AND l.kind = $3 AND l.status IN ('reserved', 'placed', 'active', 'reclaiming')
    AND ($2::text IS NULL OR l.receive_address = $2)
  GROUP BY l.receive_address`;

const CHECK = 'open-delegations';
const RULE = 'I7';
const CONCURRENT_PAIRS = 24;
const CONCURRENT_WALLETS = 8;
/** Pauses between readings of a disagreement: a backend behind a node's name may lag by some blocks. */
const READING_RESTS_MS = [300, 1000, 3000, 6000];

interface Suspect {
  readonly wallet: WalletRow;
  readonly receiver: string;
  readonly resource: Resource;
}

interface PairReading {
  readonly expected: Expected;
  readonly onChain: bigint;
}

interface Odd {
  readonly suspect: Suspect;
  readonly reading: PairReading;
}

/** `every`: reads each pair. `suspicious`: only pairs of wallets whose sum or list of receivers disagrees. */
export type PairDepth = 'every' | 'suspicious';

export class DelegationCheck {
  private readonly findings: Finding[] = [];
  private count = 0;
  private pairs = 0;
  private read = 0;
  private perWallet = 0;

  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly depth: PairDepth,
    private readonly findingsMax: number,
    private readonly pairsMax: number,
  ) {}

  /** Throws ChainUnavailableError if no node can answer for a wallet. */
  async run(wallets: readonly WalletRow[]): Promise<CheckResult> {
    this.perWallet = Math.ceil(this.pairsMax / Math.max(1, wallets.length));
    const suspects: Suspect[] = [];
    await forEachConcurrently(wallets, CONCURRENT_WALLETS, async (wallet) => {
      for (const resource of RESOURCES) suspects.push(...(await this.suspectsAt(wallet, resource)));
    });
    await this.checkPairs(suspects);
    return {
      check: CHECK,
      rule: RULE,
      stops: 'wallet',
      says: 'The delegations of open legs match the chain, per wallet, receiver and resource.',
      count: this.count,
      findings: this.findings,
      covered: `${wallets.length.toString()} wallets by sum and receivers, ${this.read.toString()} of ${this.pairs.toString()} pairs one by one`,
    };
  }

  /** Returns the receivers of a wallet that need individual readings. */
  private async suspectsAt(wallet: WalletRow, resource: Resource): Promise<readonly Suspect[]> {
    const odd = await this.client.pool.ask('a wallet’s delegations', async (node) => {
      const every = { receiver: null, resource, leastHeight: 0n };
      // The list of receivers is that of both resources.
      const other = await expectedOf(this.database, node, wallet.id, { ...every, resource: otherThan(resource) });
      const expected = await expectedOf(this.database, node, wallet.id, every);
      const total = await solidDelegatedSun(node, wallet.address, resource);
      if (resource === 'BANDWIDTH' && total === 0n && expected.size === 0) return [];
      const receivers = await solidReceivers(node, wallet.address);
      const unexpected = [...receivers].filter((receiver) => !expected.has(receiver) && !other.has(receiver));
      const pairs = new Set([...expected.keys(), ...receivers]);
      this.pairs += pairs.size;
      const suspects = isSumWithin(expected, total) ? [...missingFrom(receivers, expected), ...unexpected] : [...pairs];
      if (this.depth === 'suspicious') return suspects;
      if (suspects.length > 0) return suspects;
      await forEachConcurrently(sampleOf([...pairs], this.perWallet), CONCURRENT_PAIRS, async (receiver) => {
        this.read += 1;
        const onChain = await solidDelegationSun(node, wallet.address, receiver, resource);
        if (!isWithin(expected.get(receiver) ?? NOTHING, onChain)) suspects.push(receiver);
      });
      return suspects;
    });
    return odd.map((receiver) => ({ wallet, receiver, resource }));
  }

  /** Reports the pairs that disagree in every reading. All pairs share the pauses, so many take no longer than one. */
  private async checkPairs(suspects: readonly Suspect[]): Promise<void> {
    this.read += suspects.length;
    let odd: readonly Suspect[] = suspects;
    for (const restMs of READING_RESTS_MS) {
      odd = (await this.readAgain(odd)).map(({ suspect }) => suspect);
      if (odd.length === 0) return;
      await sleep(restMs);
    }
    for (const { suspect, reading } of await this.readAgain(odd)) this.report(suspect, reading);
  }

  /** Returns the pairs that disagree now, after reading records and chain again. */
  private async readAgain(suspects: readonly Suspect[]): Promise<readonly Odd[]> {
    const odd: Odd[] = [];
    await forEachConcurrently(suspects, CONCURRENT_PAIRS, async (suspect) => {
      const reading = await this.client.pool.ask('a delegation', (node) =>
        readPairAt(node, this.database, { ...suspect, leastHeight: 0n }),
      );
      if (!isWithin(reading.expected, reading.onChain)) odd.push({ suspect, reading });
    });
    return odd;
  }

  private report({ wallet, receiver, resource }: Suspect, { expected, onChain }: PairReading): void {
    this.count += 1;
    if (this.findings.length >= this.findingsMax) return;
    const { certain, moving } = expected;
    const isExcess = onChain > certain;
    const amount = isExcess ? onChain - certain - moving : onChain - certain;
    const facts = { resource, chain_sun: onChain, books_sun: certain, moving_sun: moving, excess_sun: amount };
    // The chain's sum may or may not include pending transactions.
    const amountMost = isExcess ? onChain - certain : onChain - certain - moving;
    const traits = { walletId: wallet.id, amount, amountMost };
    // An explanation of one resource must not cover the other.
    const subject = `${wallet.address} → ${receiver}${resource === 'BANDWIDTH' ? ' (bandwidth)' : ''}`;
    this.findings.push(findingOf({ check: CHECK, rule: RULE, subject, facts, ...traits }));
  }
}

/**
 * Returns the sums that the records allow for a wallet's receivers (all, or one). Reads the records before the chain.
 * Throws NodeError unless the node's solid chain has at least the records' solid height and `leastHeight`.
 */
async function expectedOf(
  database: Database,
  node: TronNode,
  walletId: number,
  { receiver, resource, leastHeight }: Omit<JudgedPair, 'wallet' | 'receiver'> & { readonly receiver: string | null },
): Promise<ReadonlyMap<string, Expected>> {
  const [height] = await database.query<{ height: bigint }>(SOLID_HEIGHT);
  const rows = await database.query<ExpectedRow>(EXPECTED, [walletId, receiver, delegationKind(resource)]);
  const head = await solidHeadOf(node);
  if (BigInt(head.number) < (height?.height ?? 0n) || BigInt(head.number) < leastHeight) {
    throw new NodeError(node.name, 'unhealthy', 'its solid head is behind what the records call solid');
  }
  return new Map(rows.map((row) => [row.receive_address, { certain: row.certain, moving: row.moving }]));
}

async function readPairAt(node: TronNode, database: Database, pair: JudgedPair): Promise<PairReading> {
  const { wallet, receiver, resource } = pair;
  const all = await expectedOf(database, node, wallet.id, pair);
  const onChain = await solidDelegationSun(node, wallet.address, receiver, resource);
  return { expected: all.get(receiver) ?? NOTHING, onChain };
}

/** Sun delegated beyond the records; negative if less. Two bounds while a transaction of the pair is pending. */
export interface Excess {
  readonly least: bigint;
  readonly most: bigint;
}

/** Returns the excess of a pair: the least and the most over all nodes that answer. Throws ChainUnavailableError. */
export async function excessOf(database: Database, client: TronClient, pair: JudgedPair): Promise<Excess> {
  const bounds = await client.pool.askEach('a delegation', async (node) => {
    const { expected, onChain } = await readPairAt(node, database, pair);
    const most = onChain - expected.certain;
    return { least: most - expected.moving, most };
  });
  const [leasts, mosts] = [bounds.map(({ least }) => least), bounds.map(({ most }) => most)];
  return {
    least: leasts.reduce((least, each) => (each < least ? each : least)),
    most: mosts.reduce((most, each) => (each > most ? each : most)),
  };
}

/** Returns all pairs, or `max` neighbours from a random start. For the rest, sum and list already agree. */
function sampleOf(pairs: readonly string[], max: number): readonly string[] {
  if (pairs.length <= max) return pairs;
  const start = Math.floor(Math.random() * pairs.length);
  return [...pairs.slice(start), ...pairs.slice(0, start)].slice(0, max);
}

const otherThan = (resource: Resource): Resource => (resource === 'ENERGY' ? 'BANDWIDTH' : 'ENERGY');

function isSumWithin(expected: ReadonlyMap<string, Expected>, total: bigint): boolean {
  let [certain, moving] = [0n, 0n];
  for (const sums of expected.values()) {
    certain += sums.certain;
    moving += sums.moving;
  }
  return isWithin({ certain, moving }, total);
}

/** Returns the receivers with a final delegation in the records that the chain does not list. */
function missingFrom(receivers: ReadonlySet<string>, expected: ReadonlyMap<string, Expected>): string[] {
  return [...expected].flatMap(([receiver, { certain }]) => (certain > 0n && !receivers.has(receiver) ? receiver : []));
}
