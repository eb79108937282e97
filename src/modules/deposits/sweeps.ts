/** Plans sweeps of deposit addresses to an address of the operator's, simulating the transfers in order. */
import { Injectable } from '@nestjs/common';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { isAddress } from '../../domain/base58-address.js';
import { Config } from '../../platform/config/config.js';
import { OperatorError } from '../../domain/operator-error.js';
import { SUN_PER_TRX } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { DepositTransfers } from './deposit-transfers.js';
import { Holdings, type DepositPlace, type ReadHoldings } from './holdings.js';
import { SweepDraft, type SweepCandidate, type SweepPlan } from './sweep-draft.js';
import { TransferTrials } from './transfer-trials.js';

export interface SweepOptions {
  readonly to: string;
  /** TRX left at each address, for the fees of the plan's transactions and the bandwidth of later ones. */
  readonly keepSun: bigint;
  readonly limit: number;
  /** True when the energy named by the plan is rented before its transactions are sent. Default false. */
  readonly isRented?: boolean;
}

const BATCH = 100;
/** Concurrent reads. */
const CONCURRENT_READS = 8;
/** Default of TRX left behind: the bandwidth of two transactions beyond the free allowance. */
export const KEEP_SUN = SUN_PER_TRX;
/** The smallest unit of the token. An address that keeps it still counts as a holder of the token. */
const KEPT_TOKEN = 1n;

const KEEP_ADDRESS = `INSERT INTO deposit_sweep_address (address) VALUES ($1) ON CONFLICT DO NOTHING RETURNING address`;
/** An address that was swept to before stays usable, even if it paid deposits earlier. */
const IS_USABLE = `SELECT EXISTS (SELECT FROM deposit_address WHERE address = $1) AS is_ours,
    NOT EXISTS (SELECT FROM deposit_sweep_address WHERE address = $1)
      AND EXISTS (SELECT FROM deposit WHERE from_address = $1) AS is_payer`;

/** Counts for each sweep address its transfers to deposit addresses that were no deposits. */
const LIST = `SELECT s.address, s.created_at, count(m.txid)::integer AS uncredited
    FROM deposit_sweep_address s LEFT JOIN deposit_movement m ON m.counterparty = s.address AND m.amount > 0
   GROUP BY s.address ORDER BY s.created_at, s.address`;

interface SweepAddress {
  readonly address: string;
  readonly created_at: Date;
  readonly uncredited: number;
}

@Injectable()
export class Sweeps {
  constructor(
    private readonly database: Database,
    private readonly holdings: Holdings,
    private readonly trials: TransferTrials,
    private readonly transfers: DepositTransfers,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
    private readonly config: Config,
  ) {}

  /**
   * Plans transfers of all holdings above the deposit minimum, by the chain's current state. From the first plan on,
   * transfers from `to` are no deposits. Throws OperatorError, StartError when TOKEN_CONTRACT is not the token of the
   * deposits, ChainUnavailableError.
   */
  async plan(options: SweepOptions, author: Author): Promise<SweepPlan> {
    await this.tokens.assertSetting();
    await this.assertUsable(options.to);
    const plan = await this.drawPlan(options);
    if (plan.transactions.length > 0) await this.keepAddress(options.to, author);
    return plan;
  }

  /** Returns the receivers of sweeps, oldest first. */
  async listAddresses(): Promise<SweepAddress[]> {
    return this.database.query<SweepAddress>(LIST);
  }

  private async drawPlan({ to, keepSun, limit, isRented = false }: SweepOptions): Promise<SweepPlan> {
    const [prices, terms, receiver, obstacle] = await Promise.all([
      this.trials.readPrices(),
      this.transfers.buildTerms(),
      this.trials.readReceiver(to),
      this.trials.obstacleTo(to),
    ]);
    const minimums = { TRX: this.terms.minimumOf('TRX'), USDT: this.terms.minimumOf('USDT') };
    const draft = new SweepDraft(this.transfers, { receiver, prices, terms }, { keepSun, limit, isRented, minimums });
    let after = '';
    while (!draft.isFull) {
      const places = await this.holdings.readPlaces(after, BATCH);
      const last = places.at(-1);
      if (last === undefined) break;
      after = last.address;
      const read = await this.holdings.readOnChain(places.map(({ address }) => address));
      for (const candidate of await this.findCandidates(places, read, draft)) {
        draft.addToken(candidate, obstacle);
        draft.addTrx(candidate);
      }
      await this.addMissing(places, read, draft);
    }
    return draft.plan();
  }

  /** Returns the addresses whose holdings are worth a transaction, each with the simulation of its token transfer. */
  private async findCandidates(
    places: readonly DepositPlace[],
    { held }: ReadHoldings,
    draft: SweepDraft,
  ): Promise<SweepCandidate[]> {
    const keptToken = this.config.deposits.sweepLeavesToken ? KEPT_TOKEN : 0n;
    const worth = places.flatMap((place) => {
      const { trxSun = 0n, token = 0n } = held.get(place.address) ?? {};
      const amounts = { trxSun, token: token - keptToken };
      return draft.isWorth(amounts) ? [{ place, ...amounts }] : [];
    });
    const { receiver, prices } = draft.step;
    draft.holder ??= worth.find(({ token }) => draft.isTokenWorth(token))?.place.address;
    const { holder } = draft;
    const candidates = new Map<string, SweepCandidate>();
    await forEachConcurrently(worth, CONCURRENT_READS, async ({ place, trxSun, token }) => {
      const { address } = place;
      const funds = await this.trials.readFunds(address, prices);
      const isTried = draft.isTokenWorth(token);
      const trial = isTried ? await this.trials.tryTokenTransfer(address, receiver.address, token) : undefined;
      // Simulates the same transfer to an address that holds the token, as the receiver will after the first transfer.
      const isColdYet = isTried && !receiver.holdsToken && holder !== undefined && holder !== address;
      const warm = isColdYet ? await this.trials.tryTokenTransfer(address, holder, token) : undefined;
      candidates.set(address, { place, funds, trxSun, token, trial, warm });
    });
    return worth.flatMap(({ place }) => candidates.get(place.address) ?? []);
  }

  /** Reports addresses whose recorded tokens are missing on chain, for example because the issuer destroyed them. */
  private async addMissing(places: readonly DepositPlace[], read: ReadHoldings, draft: SweepDraft): Promise<void> {
    // The records say nothing about blocks that are not read yet.
    if ((await this.terms.needReadTo()) < BigInt(read.toBlock)) return;
    const addresses = places.map(({ address }) => address);
    const recorded = await this.holdings.sumRecordedBetween(addresses, read);
    for (const place of places) {
      const held = read.held.get(place.address)?.token ?? 0n;
      const amounts = (recorded.get(place.address) ?? []).map(({ USDT }) => USDT);
      const least = amounts.reduce((one, other) => (one < other ? one : other), amounts[0] ?? 0n);
      draft.addMissing(place, least - held);
    }
  }

  private async assertUsable(to: string): Promise<void> {
    if (!isAddress(to)) throw new OperatorError(`${to} is not a TRON address.`, 2);
    const [found] = await this.database.query<{ is_ours: boolean; is_payer: boolean }>(IS_USABLE, [to]);
    if (found?.is_ours === true) {
      throw new OperatorError(`${to} is a project’s deposit address. Sweep to an address of your own.`);
    }
    if (found?.is_payer === true) {
      throw new OperatorError(
        `${to} has paid deposits, and its later payments would not be credited. Sweep to an address of your own that has paid none.`,
      );
    }
  }

  /** The row is permanent and is written before the operator can sign the plan. */
  private async keepAddress(to: string, author: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [added] = await tx.query(KEEP_ADDRESS, [to]);
      if (added !== undefined)
        await recordAct(tx, author, { action: 'deposits.sweep-address', subject: to, detail: {} });
    });
  }
}
