// Projects that receive payments on a local chain, and a comparison of ledger and chain. It uses on-chain balances, of
// which nothing is swept here, and the amounts of rows; never the output of a process.
import { sleep } from '../../../src/platform/support/clock.js';
import { verifyRecords } from '../../../src/modules/verify/verify.js';
import { findingsOf } from '../../../src/modules/verify/finding.js';
import {
  FAR_RATES,
  unlikeChain,
  WRONG_IN_LEDGER,
  XPUB,
  type DepositPlace,
} from '../../support/chain/deposits-on-chain.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';
import type { CrashCluster } from './cluster.js';

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
    this.cluster.database.query<Row>(text, params);

  private constructor(
    private readonly cluster: CrashCluster,
    private readonly places: readonly DepositPlace[],
  ) {}

  /** Enables deposits and assigns addresses to some projects. */
  static async begin(cluster: CrashCluster): Promise<DepositsOnChain> {
    await cluster.service.cli('deposits', 'use-account');
    for (let made = 0; made < PROJECTS; made += 1) await cluster.service.cli('project', 'create', '--name', 'paid');
    const places = await cluster.database.query<DepositPlace>(
      `SELECT project_id, address FROM deposit_address ORDER BY place`,
    );
    const deposits = new DepositsOnChain(cluster, places.slice(-PROJECTS));
    await deposits.withRates();
    return deposits;
  }

  async withRates(): Promise<void> {
    await this.cluster.database.query(`DROP TRIGGER IF EXISTS no_rates ON asset_rate`);
    await this.cluster.database.query(FAR_RATES);
  }

  /** Also prevents new rates. */
  async withoutRates(): Promise<void> {
    for (const statement of NO_RATES) await this.cluster.database.query(statement);
  }

  async isWaiting(): Promise<boolean> {
    const found = await this.cluster.database.query(`SELECT FROM deposit WHERE reason = 'no_rate' LIMIT 1`);
    return found.length > 0;
  }

  /** Ends the lease of a dead worker. */
  async freeTurn(): Promise<void> {
    await this.cluster.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
  }

  /**
   * Pays until the signal aborts: amounts above the minimum, amounts below it, and tokens. Sometimes reverts the newest
   * blocks.
   */
  async keepPaying(signal: AbortSignal): Promise<void> {
    const { service } = this.cluster;
    const trx = (place: DepositPlace, amount: number) =>
      service.wallet.send(
        'createtransaction',
        { owner_address: service.bank.address, to_address: place.address, amount },
        service.bank,
      );
    for (let turn = 0; !signal.aborted; turn += 1) {
      const place = this.places[turn % this.places.length]!;
      await trx(place, 12_000_000 + turn);
      await trx(place, 3_000_001 + turn);
      this.payments += 2;
      if (turn % 3 === 0) {
        await service.wallet.transferToken(service.token, service.accounts[0]!, place.address, 6_000_000n, FEE_LIMIT);
        this.payments += 1;
      }
      if (turn % 7 === 6) await this.cluster.control('fork', { depth: 2 });
      await sleep(400, signal);
    }
  }

  /** Checks that balances, entries and deposits agree; they must at any moment. */
  async check(when: string): Promise<void> {
    const wrong = await this.cluster.database.query(WRONG_IN_LEDGER);
    if (wrong.length > 0) this.cluster.violations.push(`${when}: ${JSON.stringify(wrong, textOf)}`);
  }

  /** Lets an unharmed worker read to the end, then compares with the chain. */
  async finish(limitMs: number): Promise<void> {
    const { service } = this.cluster;
    await this.freeTurn();
    const worker = await service.startWorker();
    const deadline = performance.now() + limitMs;
    let wrong: string[] = ['nothing was read'];
    while (performance.now() < deadline && wrong.length > 0) {
      await sleep(500);
      wrong = await unlikeChain({ wallet: service.wallet, token: service.token, places: this.places, read: this.read });
    }
    await this.cluster.stopAndForget(worker);
    this.cluster.violations.push(...wrong);
    await this.check('at the end');
    const found = findingsOf(await verifyRecords(this.cluster.database, {})).filter(
      ({ check }) => check !== 'capacity',
    );
    this.cluster.violations.push(...found.map((finding) => JSON.stringify(finding, textOf)));
  }
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
