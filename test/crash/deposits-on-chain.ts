// Projects that receive payments on a local chain, and a comparison of ledger and chain. It uses on-chain balances, of
// which nothing is swept here, and the amounts of rows; never the output of a process.
import { sleep } from '../../src/base/clock.js';
import { verifyRecords } from '../../src/verify/verify.js';
import { findingsOf } from '../../src/verify/finding.js';
import {
  FAR_RATES,
  unlikeChain,
  WRONG_IN_LEDGER,
  XPUB,
  type DepositPlace,
} from '../support/chain/deposits-on-chain.js';
import type { ReadRows } from '../support/webhooks/webhook-judge.js';
import type { Stage } from './stage.js';

const PROJECTS = 3;
const FEE_LIMIT = 100_000_000;

const NO_RATES = [
  `CREATE OR REPLACE FUNCTION no_rates() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  `CREATE OR REPLACE TRIGGER no_rates BEFORE INSERT ON asset_rate FOR EACH ROW EXECUTE FUNCTION no_rates()`,
  `DELETE FROM asset_rate`,
];

export class DepositsOnChain {
  static readonly settings = { DEPOSIT_XPUB: XPUB, DEPOSIT_AUTO_MAX_USD: '100000000' };
  /** Payments sent so far, including reverted ones. */
  payments = 0;
  private readonly read: ReadRows = async <Row extends object>(text: string, params: unknown[]) =>
    this.stage.database.query<Row>(text, params);

  private constructor(
    private readonly stage: Stage,
    private readonly places: readonly DepositPlace[],
  ) {}

  /** Enables deposits and assigns addresses to some projects. */
  static async begin(stage: Stage): Promise<DepositsOnChain> {
    await stage.world.cli('deposits', 'use-account');
    for (let made = 0; made < PROJECTS; made += 1) await stage.world.cli('project', 'create', '--name', 'paid');
    const places = await stage.database.query<DepositPlace>(
      `SELECT project_id, address FROM deposit_address ORDER BY place`,
    );
    const deposits = new DepositsOnChain(stage, places.slice(-PROJECTS));
    await deposits.withRates();
    return deposits;
  }

  async withRates(): Promise<void> {
    await this.stage.database.query(`DROP TRIGGER IF EXISTS no_rates ON asset_rate`);
    await this.stage.database.query(FAR_RATES);
  }

  /** Also prevents new rates. */
  async withoutRates(): Promise<void> {
    for (const statement of NO_RATES) await this.stage.database.query(statement);
  }

  async isWaiting(): Promise<boolean> {
    const found = await this.stage.database.query(`SELECT FROM deposit WHERE reason = 'no_rate' LIMIT 1`);
    return found.length > 0;
  }

  /** Ends the lease of a dead worker. */
  async freeTurn(): Promise<void> {
    await this.stage.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
  }

  /**
   * Pays until the signal aborts: amounts above the minimum, amounts below it, and tokens. Sometimes reverts the newest
   * blocks.
   */
  async keepPaying(signal: AbortSignal): Promise<void> {
    const { world } = this.stage;
    const trx = (place: DepositPlace, amount: number) =>
      world.wallet.send(
        'createtransaction',
        { owner_address: world.bank.address, to_address: place.address, amount },
        world.bank,
      );
    for (let turn = 0; !signal.aborted; turn += 1) {
      const place = this.places[turn % this.places.length]!;
      await trx(place, 12_000_000 + turn);
      await trx(place, 3_000_001 + turn);
      this.payments += 2;
      if (turn % 3 === 0) {
        await world.wallet.transferToken(world.token, world.accounts[0]!, place.address, 6_000_000n, FEE_LIMIT);
        this.payments += 1;
      }
      if (turn % 7 === 6) await this.stage.control('fork', { depth: 2 });
      await sleep(400, signal);
    }
  }

  /** Checks that balances, entries and deposits agree; they must at any moment. */
  async check(when: string): Promise<void> {
    const wrong = await this.stage.database.query(WRONG_IN_LEDGER);
    if (wrong.length > 0) this.stage.violations.push(`${when}: ${JSON.stringify(wrong, textOf)}`);
  }

  /** Lets an unharmed worker read to the end, then compares with the chain. */
  async finish(limitMs: number): Promise<void> {
    const { world } = this.stage;
    await this.freeTurn();
    const worker = await world.startWorker();
    const deadline = performance.now() + limitMs;
    let wrong: string[] = ['nothing was read'];
    while (performance.now() < deadline && wrong.length > 0) {
      await sleep(500);
      wrong = await unlikeChain({ wallet: world.wallet, token: world.token, places: this.places, read: this.read });
    }
    await this.stage.stopAndForget(worker);
    this.stage.violations.push(...wrong);
    await this.check('at the end');
    const found = findingsOf(await verifyRecords(this.stage.database, {})).filter(({ check }) => check !== 'capacity');
    this.stage.violations.push(...found.map((finding) => JSON.stringify(finding, textOf)));
  }
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
