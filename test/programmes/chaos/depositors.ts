// Projects that receive on-chain deposits during faults. Afterwards the ledger must contain each deposit on chain once.
import { sleep } from '../../../src/platform/support/clock.js';
import { solidHeadOf, TronClient } from '../../../src/platform/chain/tron.client.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import type { INestApplicationContext } from '@nestjs/common';
import type { LocalService } from '../../../packages/local/src/local-service.js';
import type { Wallet } from '../../../packages/local/src/chain-account.js';
import { FAR_RATES, unlikeChain, WRONG_IN_LEDGER, type DepositPlace } from '../../support/chain/deposits-on-chain.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';

const ACT = { actor: 'chaos', reason: 'a round of chaos' };
const PROJECTS = 3;
const FEE_LIMIT = 100_000_000;
const PAY_MS = 700;
const LOOK_MS = 1000;

export class Depositors {
  /** Payments sent so far, including reverted ones. */
  payments = 0;

  private constructor(
    private readonly service: LocalService,
    /** Wallet client that bypasses injected node faults. */
    private readonly directWallet: Wallet,
    private readonly places: readonly DepositPlace[],
  ) {}

  /** Enables deposits and assigns addresses to some projects. */
  static async begin(
    parts: INestApplicationContext,
    service: LocalService,
    directWallet: Wallet,
    read: ReadRows,
  ): Promise<Depositors> {
    const [node] = parts.get(TronClient, { strict: false }).pool.nodes;
    const addresses = parts.get(DepositAddresses, { strict: false });
    await addresses.useAccount(await solidHeadOf(node!), ACT);
    while ((await addresses.assignMissing()) > 0);
    const projects = parts.get(Projects, { strict: false });
    const ids: string[] = [];
    for (let made = 0; made < PROJECTS; made += 1)
      ids.push((await projects.create('Paid', { kind: 'prepaid' }, ACT)).id);
    await read(FAR_RATES, []);
    const places = await read<DepositPlace>(
      `SELECT project_id, address FROM deposit_address WHERE project_id = ANY ($1)`,
      [ids],
    );
    return new Depositors(service, directWallet, places);
  }

  /** Pays until the signal aborts: amounts above the minimum, amounts below it, and tokens. */
  async keepPaying(signal: AbortSignal): Promise<void> {
    const { service, directWallet } = this;
    for (let turn = 0; !signal.aborted; turn += 1) {
      const place = this.places[turn % this.places.length]!;
      const body = { owner_address: service.bank.address, to_address: place.address };
      const sent = [
        directWallet.send('createtransaction', { ...body, amount: 12_000_000 + turn }, service.bank),
        directWallet.send('createtransaction', { ...body, amount: 3_000_001 + turn }, service.bank),
        ...(turn % 3 === 0
          ? [directWallet.transferToken(service.token, service.accounts[0]!, place.address, 6_000_000n, FEE_LIMIT)]
          : []),
      ];
      // A fork may drop a transaction, or revert its reference block.
      const outcomes = await Promise.allSettled(sent);
      this.payments += outcomes.filter(({ status }) => status === 'fulfilled').length;
      await sleep(PAY_MS, signal);
    }
  }

  /** Waits up to `limitMs` after healing for ledger and chain to agree. Returns the remaining differences. */
  async violations(read: ReadRows, limitMs: number): Promise<string[]> {
    const endMs = performance.now() + limitMs;
    const look = () => unlikeChain({ wallet: this.directWallet, token: this.service.token, places: this.places, read });
    let wrong = await look();
    while (wrong.length > 0 && performance.now() < endMs) {
      await sleep(LOOK_MS);
      wrong = await look();
    }
    const ledger = await read(WRONG_IN_LEDGER, []);
    return [...wrong, ...ledger.map((row) => JSON.stringify(row))];
  }
}
