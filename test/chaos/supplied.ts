// Addresses that are kept supplied while everything goes wrong: their owners use what they have, and in the end each has
// what it was promised. That nothing was bought twice is a rule of the records (auto-delegation-purchases).
import { sleep } from '../../src/base/clock.js';
import { namedChainAccount, type ChainAccount, type Wallet } from '../../packages/local/src/chain-account.js';
import type { World } from '../../packages/local/src/world.js';
import type { ReadRows } from '../webhook-judge.js';

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

const SET = `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
    daily_cap_credits, idle_after_sec, due_at)
  SELECT $1, unnest($2::text[]), $1, $3, $4, $5, $6, 86400, clock_timestamp()`;

const STATES = `SELECT a.address, a.pause_reason, a.spent_credits::text AS spent, a.purchases::text AS purchases,
    a.open_order_id::text AS open FROM auto_delegation a WHERE a.project_id = $1`;

const OWN = `SELECT id::text FROM auto_delegation WHERE project_id = $1`;

/** What may be lacking in the end without a fault: all is sold. */
const LACKING = new Set(['CAPACITY_UNAVAILABLE']);

interface State {
  readonly address: string;
  readonly pause_reason: string | null;
  readonly open: string | null;
}

export class Supplied {
  /** Calls that were sent so far, reverted ones among them. */
  uses = 0;

  private constructor(
    private readonly world: World,
    /** The chain past every fault. */
    private readonly hand: Wallet,
    private readonly projectId: string,
    private readonly users: readonly ChainAccount[],
  ) {}

  /** The users come onto the chain, with TRX to burn and a token to send. */
  static async begin(world: World, hand: Wallet, projectId: string): Promise<Supplied> {
    const users = Array.from({ length: USERS }, (_, n) => namedChainAccount(`supplied-${n.toString()}`));
    for (const { address } of users) {
      const body = { owner_address: world.bank.address, to_address: address, amount: SPENDING_SUN };
      await hand.sendUntilIncluded('createtransaction', body, world.bank);
      await hand.transferToken(world.token, world.accounts[0]!, address, 1_000_000_000n, FEE_LIMIT);
    }
    return new Supplied(world, hand, projectId, users);
  }

  /** For one round. */
  async keep(read: ReadRows): Promise<void> {
    const addresses = this.users.map(({ address }) => address);
    await read(SET, [this.projectId, addresses, KEEP, BELOW, DURATION_SEC, DAILY_CAP_CREDITS]);
  }

  /** Each in turn sends a token, until told to stop. */
  async keepUsing(signal: AbortSignal): Promise<void> {
    const { world, hand } = this;
    for (let turn = 0; !signal.aborted; turn += 1) {
      const user = this.users[turn % this.users.length]!;
      // A fork may take it with it, or leave its reference in no chain.
      const [outcome] = await Promise.allSettled([
        hand.transferToken(world.token, user, world.bank.address, 1n, FEE_LIMIT),
      ]);
      if (outcome.status === 'fulfilled') this.uses += 1;
      await sleep(USE_MS, signal);
    }
  }

  /** Who has not what it was promised, `limitMs` after everything was healed; nothing is kept supplied from then on. */
  async violations(read: ReadRows, limitMs: number): Promise<string[]> {
    // As their owner would: what could not be bought while all went wrong is tried at once. Each by itself: a
    // statement of many rows holds one while it waits for the next, and may be the victim of a deadlock.
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
      const said = await this.hand.post('wallet/getaccountresource', { address: state.address, visible: true });
      const usable = Number(said['EnergyLimit'] ?? 0) - Number(said['EnergyUsed'] ?? 0);
      if (usable < BELOW) wrong.push(`${JSON.stringify(state)} can spend ${usable.toString()}`);
    }
    return wrong;
  }
}
