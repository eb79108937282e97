/**
 * Unsigned transactions that take what deposit addresses hold to an address of the operator's. Signed on the machine that
 * has the account's private key, which is never this one.
 */
import { Injectable } from '@nestjs/common';
import { isAddress } from '../chain/address.js';
import { buildTransfer, type TransferTerms, type UnsignedTransfer } from '../chain/transfer-transaction.js';
import { solidHeadOf, TronClient } from '../chain/tron.client.js';
import { Config } from '../config/config.js';
import type { DepositAsset } from '../domain/deposit-state.js';
import { OperatorError } from '../domain/operator-error.js';
import { SUN_PER_TRX } from '../domain/units.js';
import { recordAct, type Author } from '../store/audit-log.js';
import { Database } from '../store/database.js';
import { DepositTerms } from './deposit-terms.js';
import { DepositTokens } from './deposit-tokens.js';
import { Holdings, type DepositPlace } from './holdings.js';

export interface PlannedTransfer extends UnsignedTransfer {
  /** The key that signs it. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
  readonly expiresAt: Date;
}

/** What goes where. */
interface Sweep {
  readonly to: string;
  readonly asset: DepositAsset;
  readonly amount: bigint;
}

export interface SweepOptions {
  readonly to: string;
  /** Left behind, for the bandwidth of what follows. */
  readonly keepSun: bigint;
  readonly limit: number;
}

const BATCH = 100;
/** TRON: at most a day. */
const VALID_MS = 23 * 3_600_000;
/** A transfer of the token costs this at most where no energy was rented for it. */
const FEE_LIMIT_SUN = 30_000_000;

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
    private readonly client: TronClient,
    private readonly terms: DepositTerms,
    private readonly tokens: DepositTokens,
    private readonly config: Config,
  ) {}

  /**
   * Plans transfers of everything that is worth a deposit, by what the chain holds now. With the first plan what `to` sends
   * is no deposit any more. Throws OperatorError, StartError for another TOKEN_CONTRACT than that
   * of the deposits, ChainUnavailableError.
   */
  async plan(options: SweepOptions, author: Author): Promise<PlannedTransfer[]> {
    await this.tokens.assertSetting();
    await this.assertUsable(options.to);
    const planned = await this.transfers(options);
    if (planned.length > 0) await this.keepAddress(options.to, author);
    return planned;
  }

  /** Where sweeps go to, oldest first. */
  async addresses(): Promise<SweepAddress[]> {
    return this.database.query<SweepAddress>(LIST);
  }

  private async transfers({ to, keepSun, limit }: SweepOptions): Promise<PlannedTransfer[]> {
    const terms = await this.buildTerms();
    const planned: PlannedTransfer[] = [];
    let after = '';
    while (planned.length < limit) {
      const places = await this.holdings.places(after, BATCH);
      const last = places.at(-1);
      if (last === undefined) break;
      after = last.address;
      const { held } = await this.holdings.read(places.map(({ address }) => address));
      for (const place of places) {
        const { trxSun = 0n, token = 0n } = held.get(place.address) ?? {};
        // The token first: it needs the TRX for its bandwidth.
        if (token >= this.terms.minimumOf('USDT'))
          planned.push(this.build(place, { to, asset: 'USDT', amount: token }, terms));
        const spare = trxSun - keepSun;
        if (spare >= this.terms.minimumOf('TRX'))
          planned.push(this.build(place, { to, asset: 'TRX', amount: spare }, terms));
      }
    }
    return planned.slice(0, limit);
  }

  /** One transfer from a deposit address, by terms that hold for the next 23 hours. */
  build(place: DepositPlace, { to, asset, amount }: Sweep, terms: TransferTerms): PlannedTransfer {
    const { address, account } = place;
    const token = { contract: this.config.chain.tokenContract, feeLimitSun: FEE_LIMIT_SUN };
    const built = buildTransfer({ from: address, to, amount, ...(asset === 'USDT' && { token }) }, terms);
    const path = `m/44'/195'/${account.toString()}'/0/${place.place.toString()}`;
    return { ...built, path, from: address, to, asset, amount, expiresAt: new Date(terms.expiresAtMs) };
  }

  async buildTerms(): Promise<TransferTerms> {
    return this.client.pool.ask('the solid head', async (node) => {
      const [reference, head] = [await solidHeadOf(node), await node.readHead()];
      return { reference, timestampMs: head.timestampMs, expiresAtMs: head.timestampMs + VALID_MS };
    });
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

/** What is kept behind at least, for the bandwidth of two transactions that the free points do not cover. */
export const KEEP_SUN = SUN_PER_TRX;
