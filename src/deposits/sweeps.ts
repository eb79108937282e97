/** Plans that take what deposit addresses hold to an address of the operator's, simulated transfer by transfer in order. */
import { Injectable } from '@nestjs/common';
import { forEachConcurrently } from '../base/concurrency.js';
import { isAddress } from '../chain/address.js';
import type { TransferTerms } from '../chain/transfer-transaction.js';
import { Config } from '../config/config.js';
import { OperatorError } from '../domain/operator-error.js';
import { SUN_PER_TRX } from '../domain/units.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database } from '../store/database.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { DepositTransfers, type BuiltTransfer, type TransferOrder } from './deposit-transfers.js';
import { Holdings, type DepositPlace, type ReadHoldings } from './holdings.js';
import { SweepDraft, type SweepCandidate, type SweepPlan } from './sweep-draft.js';
import { TransferTrials } from './transfer-trials.js';

export interface SweepOptions {
  readonly to: string;
  /** Left behind, for what the plan's transactions burn and the bandwidth of what follows. */
  readonly keepSun: bigint;
  readonly limit: number;
  /** Whether the energy that the plan names is rented before its transactions are sent; not unless said. */
  readonly isRented?: boolean;
}

const BATCH = 100;
/** Addresses asked about at once. */
const READS_AT_ONCE = 8;
/** What is kept behind unless said: the bandwidth of two transactions that the free points do not cover. */
export const KEEP_SUN = SUN_PER_TRX;
/** The smallest amount of the token: with it an address still counts as one that holds the token. */
const KEPT_TOKEN = 1n;

const KEEP_ADDRESS = `INSERT INTO deposit_sweep_address (address) VALUES ($1) ON CONFLICT DO NOTHING RETURNING address`;
/** One that was swept to before stays so, whatever it paid before that. */
const IS_USABLE = `SELECT EXISTS (SELECT FROM deposit_address WHERE address = $1) AS is_ours,
    NOT EXISTS (SELECT FROM deposit_sweep_address WHERE address = $1)
      AND EXISTS (SELECT FROM deposit WHERE from_address = $1) AS is_payer`;

/** With how many payments of it to deposit addresses were no deposits. */
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
   * Plans transfers of everything that is worth a deposit, by what the chain holds now. With the first plan what `to` sends
   * is no deposit any more. Throws OperatorError, StartError for another TOKEN_CONTRACT than that
   * of the deposits, ChainUnavailableError.
   */
  async plan(options: SweepOptions, author: Author): Promise<SweepPlan> {
    await this.tokens.assertSetting();
    await this.assertUsable(options.to);
    const plan = await this.draw(options);
    if (plan.transactions.length > 0) await this.keepAddress(options.to, author);
    return plan;
  }

  /** Where sweeps go to, oldest first. */
  async addresses(): Promise<SweepAddress[]> {
    return this.database.query<SweepAddress>(LIST);
  }

  /** One transfer from a deposit address, by terms that hold for the next 23 hours. */
  build(place: DepositPlace, order: TransferOrder, terms: TransferTerms): BuiltTransfer {
    return this.transfers.build(place, order, terms);
  }

  async buildTerms(): Promise<TransferTerms> {
    return this.transfers.buildTerms();
  }

  private async draw({ to, keepSun, limit, isRented = false }: SweepOptions): Promise<SweepPlan> {
    const [prices, terms, receiver, obstacle] = await Promise.all([
      this.trials.prices(),
      this.transfers.buildTerms(),
      this.trials.receiver(to),
      this.trials.obstacleTo(to),
    ]);
    const minimums = { TRX: this.terms.minimumOf('TRX'), USDT: this.terms.minimumOf('USDT') };
    const draft = new SweepDraft(this.transfers, { receiver, prices, terms }, { keepSun, limit, isRented, minimums });
    let after = '';
    while (!draft.isFull) {
      const places = await this.holdings.places(after, BATCH);
      const last = places.at(-1);
      if (last === undefined) break;
      after = last.address;
      const read = await this.holdings.read(places.map(({ address }) => address));
      for (const candidate of await this.candidates(places, read, draft)) {
        draft.addToken(candidate, obstacle);
        draft.addTrx(candidate);
      }
      await this.addMissing(places, read, draft);
    }
    return draft.plan();
  }

  /** What these addresses hold that is worth a transaction, each with the simulation of its token transfer. */
  private async candidates(
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
    await forEachConcurrently(worth, READS_AT_ONCE, async ({ place, trxSun, token }) => {
      const { address } = place;
      const purse = await this.trials.purseOf(address, prices);
      const isTried = draft.isTokenWorth(token);
      const trial = isTried ? await this.trials.tokenTransfer(address, receiver.address, token) : undefined;
      // What the same transfer takes to an address that holds the token, as the receiver does after the first one.
      const isColdYet = isTried && !receiver.holdsToken && holder !== undefined && holder !== address;
      const warm = isColdYet ? await this.trials.tokenTransfer(address, holder, token) : undefined;
      candidates.set(address, { place, purse, trxSun, token, trial, warm });
    });
    return worth.flatMap(({ place }) => candidates.get(place.address) ?? []);
  }

  /** Names addresses whose tokens are gone by the chain and not by the records, such as those that the issuer destroyed. */
  private async addMissing(places: readonly DepositPlace[], read: ReadHoldings, draft: SweepDraft): Promise<void> {
    // Of blocks that are not read yet the records say nothing.
    if ((await this.terms.needReadTo()) < BigInt(read.toBlock)) return;
    const addresses = places.map(({ address }) => address);
    const recorded = await this.holdings.recordedBetween(addresses, read);
    for (const place of places) {
      const held = read.held.get(place.address)?.token ?? 0n;
      const amounts = (recorded.get(place.address) ?? []).map(({ USDT }) => USDT);
      const least = amounts.reduce((one, other) => (one < other ? one : other), amounts[0] ?? 0n);
      draft.addMissing(place, least - held);
    }
  }

  private async assertUsable(to: string): Promise<void> {
    if (!isAddress(to)) throw new OperatorError(`${to} is no address of TRON.`, 2);
    const [found] = await this.database.query<{ is_ours: boolean; is_payer: boolean }>(IS_USABLE, [to]);
    if (found?.is_ours === true) {
      throw new OperatorError(`${to} is the deposit address of a project: sweep to an address of your own.`);
    }
    if (found?.is_payer === true) {
      throw new OperatorError(
        `${to} has paid deposits, and what it sends would be credited no more: sweep to an address of your own that has paid none.`,
      );
    }
  }

  /** For ever: before anybody can sign what is planned. */
  private async keepAddress(to: string, author: Author): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [added] = await tx.query(KEEP_ADDRESS, [to]);
      if (added !== undefined)
        await recordAct(tx, author, { action: 'deposits.sweep-address', subject: to, detail: {} });
    });
  }
}
