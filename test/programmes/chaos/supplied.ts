// Auto-delegated addresses during faults: their owners use energy, and afterwards each has the promised amount. The
// rule auto-delegation-purchases checks that nothing was bought twice.
import { sleep } from '../../../src/platform/support/clock.js';
import { namedChainAccount, type ChainAccount, type Wallet } from '../../../packages/local/src/chain-account.js';
import type { LocalService } from '../../../packages/local/src/local-service.js';
import type { ReadRows } from '../../support/webhooks/webhook-judge.js';

const USERS = 3;
/** Two transfers to a holder. */
const KEEP = 130_000;
const BELOW = 70_000;
const DURATION_SEC = 60;
const DAILY_CAP_CREDITS = 1_000_000_000_000;
const USE_MS = 1500;
const LOOK_MS = 1000;
const FEE_LIMIT = 100_000_000;
const SPENDING_SUN = 5_000_000_000;
/** More than the day that passes on the chain before each round, which the first check may not have seen yet. */
const IDLE_AFTER_SEC = 7 * 86_400;

const SET = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
    daily_cap_credits, idle_after_sec, due_at)
  SELECT $1, unnest($2::text[]), $1, $3, $4, $5, $6, $7, clock_timestamp()`;

const STATES = `SELECT a.address, a.pause_reason, a.spent_credits::text AS spent, a.purchases::text AS purchases,
    a.open_order_id::text AS open FROM auto_delegation a WHERE a.project_id = $1`;

const OWN = `SELECT id::text FROM auto_delegation WHERE project_id = $1`;

/** Reasons to lack energy without a fault: the pool is sold out. */
const LACKING = new Set(['CAPACITY_UNAVAILABLE']);

interface State {
  readonly address: string;
  readonly pause_reason: string | null;
  readonly open: string | null;
}

export class Supplied {
  /** Calls sent so far, including reverted ones. */
  uses = 0;

  private constructor(
    private readonly service: LocalService,
    /** Wallet client that bypasses injected node faults. */
    private readonly directWallet: Wallet,
    private readonly projectId: string,
    private readonly users: readonly ChainAccount[],
  ) {}

  /** Creates the users on chain, with TRX to burn and a token to send. */
  static async begin(service: LocalService, directWallet: Wallet, projectId: string): Promise<Supplied> {
    const users = Array.from({ length: USERS }, (_, n) => namedChainAccount(`supplied-${n.toString()}`));
    for (const { address } of users) {
      const body = { owner_address: service.bank.address, to_address: address, amount: SPENDING_SUN };
      await directWallet.sendUntilIncluded('createtransaction', body, service.bank);
      await directWallet.transferToken(service.token, service.accounts[0]!, address, 1_000_000_000n, FEE_LIMIT);
    }
    return new Supplied(service, directWallet, projectId, users);
  }

  /** Sets the auto-delegations for one round. */
  async keep(read: ReadRows): Promise<void> {
    const addresses = this.users.map(({ address }) => address);
    await read(SET, [this.projectId, addresses, KEEP, BELOW, DURATION_SEC, DAILY_CAP_CREDITS, IDLE_AFTER_SEC]);
  }

  /** The users send a token in turn until the signal aborts. */
  async keepUsing(signal: AbortSignal): Promise<void> {
    const { service, directWallet } = this;
    for (let turn = 0; !signal.aborted; turn += 1) {
      const user = this.users[turn % this.users.length]!;
      // A fork may drop it, or revert its reference block.
      const [outcome] = await Promise.allSettled([
        directWallet.transferToken(service.token, user, service.bank.address, 1n, FEE_LIMIT),
      ]);
      if (outcome.status === 'fulfilled') this.uses += 1;
      await sleep(USE_MS, signal);
    }
  }

  /**
   * Waits up to `limitMs` after healing. Returns the addresses without the promised energy, then deletes all
   * auto-delegations.
   */
  async violations(read: ReadRows, limitMs: number): Promise<string[]> {
    // Retries failed purchases immediately, as an owner would. One row per statement: a statement over many rows holds
    // one while it waits for the next, and may become a deadlock victim.
    for (const { id } of await read<{ id: string }>(OWN, [this.projectId])) {
      await read(
        `UPDATE auto_delegation SET due_at = clock_timestamp(), failures = 0, fence = fence + 1 WHERE id = $1`,
        [id],
      );
    }
    const endMs = performance.now() + limitMs;
    let short = await this.short(read);
    while (short.length > 0 && performance.now() < endMs) {
      await sleep(LOOK_MS);
      short = await this.short(read);
    }
    for (const { id } of await read<{ id: string }>(OWN, [this.projectId])) {
      await read(`DELETE FROM auto_delegation WHERE id = $1`, [id]);
    }
    return short;
  }

  private async short(read: ReadRows): Promise<string[]> {
    const states = await read<State>(STATES, [this.projectId]);
    const wrong =
      states.length === USERS ? [] : [`${states.length.toString()} auto-delegations of ${USERS.toString()}`];
    for (const state of states) {
      if (state.pause_reason !== null && LACKING.has(state.pause_reason)) continue;
      const said = await this.directWallet.post('wallet/getaccountresource', { address: state.address, visible: true });
      const usable = Number(said['EnergyLimit'] ?? 0) - Number(said['EnergyUsed'] ?? 0);
      if (usable < BELOW) wrong.push(`${JSON.stringify(state)} can spend ${usable.toString()}`);
    }
    return wrong;
  }
}
