// Projects that are paid on a local chain, and whether the ledger has what the chain has. Judged by balances on chain, of
// which nothing is swept here, and by the amounts of the rows: never by what a process says.
import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { sleep } from '../../src/base/clock.js';
import { addressToHex } from '../../src/chain/address.js';
import { verifyRecords } from '../../src/verify/verify.js';
import { findingsOf } from '../../src/verify/finding.js';
import type { Stage } from './stage.js';

const PROJECTS = 3;
const FEE_LIMIT = 100_000_000;
const XPUB = HDKey.fromMasterSeed(pbkdf2Sync('deposits that are killed', 'mnemonic', 2048, 64, 'sha512')).derive(
  "m/44'/195'/0'",
).publicExtendedKey;
/** Chain time runs ahead of ours here: what has no rate of its minute takes the first one after it, and that is this. */
const FAR = '2200-01-01T00:00:00Z';
const RATE = 30_000_000n;
const PEG = 100_000_000n;

interface Place {
  readonly project_id: string;
  readonly address: string;
}

export class DepositsOnChain {
  static readonly settings = { DEPOSIT_XPUB: XPUB, DEPOSIT_AUTO_MAX_USD: '100000000' };
  /** Sent so far, reverted ones among them. */
  payments = 0;

  private constructor(
    private readonly stage: Stage,
    private readonly places: readonly Place[],
  ) {}

  /** Deposits come into use, and some projects get addresses. */
  static async begin(stage: Stage): Promise<DepositsOnChain> {
    await stage.world.cli('deposits', 'use-account');
    for (let made = 0; made < PROJECTS; made += 1) await stage.world.cli('project', 'create', '--name', 'paid');
    const places = await stage.database.query<Place>(`SELECT project_id, address FROM deposit_address ORDER BY place`);
    const deposits = new DepositsOnChain(stage, places.slice(-PROJECTS));
    await deposits.withRates();
    return deposits;
  }

  async withRates(): Promise<void> {
    await this.stage.database.query(
      `INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ('TRX', $1, $2), ('USDT', $1, $3) ON CONFLICT DO NOTHING`,
      [FAR, RATE, PEG],
    );
  }

  async withoutRates(): Promise<void> {
    await this.stage.database.query(`DELETE FROM asset_rate`);
  }

  async isWaiting(): Promise<boolean> {
    const found = await this.stage.database.query(`SELECT FROM deposit WHERE reason = 'no_rate' LIMIT 1`);
    return found.length > 0;
  }

  /** As the end of the lease of a worker that died. */
  async freeTurn(): Promise<void> {
    await this.stage.database.query(`UPDATE deposit_cursor SET lease_until = NULL`);
  }

  /** Pays in until told to stop: enough by itself, too little, tokens, and now and then the newest blocks are reverted. */
  async keepPaying(signal: AbortSignal): Promise<void> {
    const { world } = this.stage;
    const trx = (place: Place, amount: number) =>
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

  /** Balances, entries and deposits agree at any moment. */
  async check(when: string): Promise<void> {
    const wrong = await this.stage.database.query(WRONG_IN_LEDGER);
    if (wrong.length > 0) this.stage.violations.push(`${when}: ${JSON.stringify(wrong, textOf)}`);
  }

  /** Lets a worker that nobody kills read to the end, and adds up the chain. */
  async finish(limitMs: number): Promise<void> {
    await this.freeTurn();
    const worker = await this.stage.world.startWorker();
    const deadline = performance.now() + limitMs;
    let wrong: string[] = ['nothing was read'];
    while (performance.now() < deadline && wrong.length > 0) {
      await sleep(500);
      wrong = await this.differences();
    }
    await this.stage.stopAndForget(worker);
    this.stage.violations.push(...wrong);
    await this.check('at the end');
    const found = findingsOf(await verifyRecords(this.stage.database, {})).filter(({ check }) => check !== 'capacity');
    this.stage.violations.push(...found.map((finding) => JSON.stringify(finding, textOf)));
  }

  /** Where what was taken in is not what the chain has at the addresses. */
  private async differences(): Promise<string[]> {
    const { wallet, token } = this.stage.world;
    const found: string[] = [];
    for (const { address, project_id: projectId } of this.places) {
      const account = await wallet.post('wallet/getaccount', { address, visible: true });
      const said = await wallet.post('wallet/triggerconstantcontract', {
        owner_address: address,
        contract_address: token,
        function_selector: 'balanceOf(address)',
        parameter: addressToHex(address).slice(2).padStart(64, '0'),
        visible: true,
      });
      const onChain = {
        TRX: BigInt(Number(account['balance'] ?? 0)),
        USDT: BigInt(`0x${String((said['constant_result'] as string[])[0])}`),
      };
      const rows = await this.stage.database.query<{ asset: 'TRX' | 'USDT'; amount: string; undecided: number }>(
        `SELECT asset, sum(amount)::text AS amount,
            (count(*) FILTER (WHERE status = 'held' OR reason IN ('no_rate', 'not_solid')))::integer AS undecided
           FROM deposit WHERE address = $1 AND status <> 'dropped' GROUP BY asset`,
        [address],
      );
      for (const asset of ['TRX', 'USDT'] as const) {
        const row = rows.find((each) => each.asset === asset);
        if (BigInt(row?.amount ?? 0) !== onChain[asset] || (row?.undecided ?? 0) > 0) {
          found.push(
            `${projectId}: ${onChain[asset].toString()} ${asset} on chain, ${JSON.stringify(row ?? 'nothing')} taken in`,
          );
        }
      }
    }
    return found;
  }
}

const textOf = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

/** A balance that is not the sum of its entries, or an entry that is not worth its deposits. */
const WRONG_IN_LEDGER = `
  SELECT a.project_id, a.balance_credits::text AS found, coalesce(sum(e.credits), 0)::text AS wanted
    FROM credit_account a LEFT JOIN credit_entry e ON e.project_id = a.project_id
   GROUP BY a.project_id HAVING a.balance_credits <> coalesce(sum(e.credits), 0)
  UNION ALL
  SELECT d.project_id, max(e.credits)::text, div(sum(d.amount * d.rate_e8) * 10000000, 100000000000000)::text
    FROM deposit d LEFT JOIN credit_entry e ON e.entry_key = d.entry_key
   WHERE d.status = 'credited' GROUP BY d.project_id, d.entry_key
  HAVING max(e.credits) IS DISTINCT FROM div(sum(d.amount * d.rate_e8) * 10000000, 100000000000000)::bigint
  UNION ALL
  SELECT e.project_id, e.entry_key, 'no deposit' FROM credit_entry e
   WHERE e.entry_key LIKE 'deposit:%' AND NOT EXISTS (SELECT FROM deposit d WHERE d.entry_key = e.entry_key)`;
