/**
 * Manages the auto-delegations of a project: set, list, wake, delete. The worker makes their purchases and reads their
 * addresses.
 */
import { Injectable } from '@nestjs/common';
import { isAddress } from '../../domain/base58-address.js';
import { addressFault } from '../../platform/chain/address.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config } from '../../platform/config/config.js';
import { cursorAt, idIn } from '../../domain/cursor.js';
import { cutPage, type ListPage } from '../../domain/page.js';
import { ApiError, invalidField, invariant } from '../../domain/errors.js';
import type { Credits, Energy } from '../../domain/units.js';
import { ReceiverCheck } from '../orders/receiver.js';
import { refuseTestAddress } from '../quotes/test-receivers.js';
import type { Witness } from '../../platform/database/audit-log.js';
import { Database, type Queryable } from '../../platform/database/database.js';
import { ownedBy } from '../../platform/database/owner-order.js';
import { DUE_NOW } from './auto-delegation-claims.js';
import type { AutoDelegationJson, AutoDelegationStatus, AutoDelegationTerms, Shown } from './auto-delegations.dto.js';
import { storedTransfer } from './refill-size.js';

/** The first number of the advisory locks under which a project's auto-delegations are counted. */
const COUNTING = 4203;

/** A row and the moment at which it is shown. */
export interface ShownAutoDelegation {
  readonly row: AutoDelegationJson;
  readonly shown: Shown;
}

/** Terms that may be set. */
export interface Judged<Costs> {
  readonly costs: Costs;
  /** The energy that the transfer needs now; undefined without a transfer, or until a worker measures it. */
  readonly transferEnergy?: Energy | undefined;
}

interface PageRequest {
  readonly projectId: string;
  readonly status?: AutoDelegationStatus | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface Found {
  readonly row: AutoDelegationJson;
  readonly now: Date;
}

const SHOWN = `row_to_json(a) AS row, clock_timestamp() AS now`;

/** The new fence invalidates a running check, which has other terms. The next check starts immediately. */
const CHECK = `failures = 0, due_at = clock_timestamp(), fence = a.fence + 1`;
const AWAKE = `asleep = false, used_at = NULL`;

const REPLACE = {
  name: 'auto-delegation-replace',
  text: `UPDATE auto_delegation a SET api_key_id = $3, keep_energy = $4, refill_below = $5, duration_sec = $6,
           max_sun_per_energy = $7, daily_cap_credits = $8, idle_after_sec = $9, until = $10, auto_duration = $11,
           transfer = $12, transfer_energy = $13,
           changed_at = clock_timestamp(), ${AWAKE}, ${CHECK}
         WHERE a.project_id = $1 AND a.address = $2 RETURNING ${SHOWN}`,
};
const INSERT = {
  name: 'auto-delegation-insert',
  text: `INSERT INTO auto_delegation AS a (project_id, address, api_key_id, keep_energy, refill_below, duration_sec,
           max_sun_per_energy, daily_cap_credits, idle_after_sec, until, auto_duration, transfer,
           transfer_energy, due_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, clock_timestamp()) RETURNING ${SHOWN}`,
};
const GET = {
  name: 'auto-delegation-get',
  text: `SELECT ${SHOWN} FROM auto_delegation a WHERE a.project_id = $1 AND a.address = $2`,
};
/** Like a use, it does not invalidate a running check: an address that is woken often would never get a purchase. */
const WAKE_UP = {
  name: 'auto-delegation-wake',
  text: `UPDATE auto_delegation a SET ${AWAKE}, failures = 0, ${DUE_NOW} WHERE a.project_id = $1 AND a.address = $2 RETURNING ${SHOWN}`,
};
/** Leaves a sleeping address asleep, since another cap is no use of it. */
const SET_CAP = {
  name: 'auto-delegation-cap',
  text: `UPDATE auto_delegation a SET daily_cap_credits = $3, changed_at = clock_timestamp(), ${CHECK}
         WHERE a.project_id = $1 AND a.address = $2 RETURNING ${SHOWN}`,
};
const DELETE = {
  name: 'auto-delegation-delete',
  text: `DELETE FROM auto_delegation WHERE project_id = $1 AND address = $2 RETURNING id`,
};
const IS_OF_PROJECT = ownedBy('a.project_id', '$1::uuid');
/** The status must match the one shown (auto-delegations.dto.ts). */
export const LIST = {
  name: 'auto-delegation-list',
  text: `SELECT ${SHOWN} FROM auto_delegation a
          WHERE ${IS_OF_PROJECT} AND ($2::bigint IS NULL OR a.id < $2)
            AND ($3::text IS NULL OR $3 = CASE WHEN a.until <= coalesce($4, clock_timestamp()) THEN 'ended'
                                               WHEN a.pause_reason IS NOT NULL THEN 'paused'
                                               WHEN a.asleep THEN 'asleep' ELSE 'active' END)
          ORDER BY a.project_id, a.id DESC LIMIT $5`,
};

@Injectable()
export class AutoDelegations {
  constructor(
    private readonly database: Database,
    private readonly receiverCheck: ReceiverCheck,
    private readonly client: TronClient,
    private readonly config: Config,
  ) {}

  /**
   * Sets all terms of the project for the address. The numbering of purchases continues. Purchases are charged to the
   * API key. `judge` prices valid terms and sizes their transfer, and may refuse them, before the receiver is looked up.
   * Throws ApiError INVALID_REQUEST, RECEIVER_NOT_ACTIVATED, RECEIVER_NOT_SUPPORTED, CHAIN_UNAVAILABLE, LIMIT_REACHED.
   */
  async set<Costs>(
    { projectId, address, apiKeyId }: { projectId: string; address: string; apiKeyId: string },
    terms: AutoDelegationTerms,
    judge: () => Judged<Costs> | Promise<Judged<Costs>>,
    witness: Witness,
  ): Promise<ShownAutoDelegation & { readonly isNew: boolean; readonly costs: Costs }> {
    const fault = addressFault(address);
    if (fault !== undefined) throw invalidField('address', fault);
    if (terms.until !== null && terms.until <= (await this.now())) throw invalidField('until', 'must be in the future');
    await this.refuseTestProject(projectId);
    refuseTestAddress(address, false);
    const judged = await this.judged(address, judge);
    const { costs } = judged;
    const refusal = await this.receiverCheck.refusalOf(address, false);
    if (refusal !== undefined) throw refusal;
    const { keepEnergy, refillBelow, durationSec, maxSunPerEnergy, dailyCapCredits, idleAfterSec, until } = terms;
    const columns = [
      ...[projectId, address, apiKeyId, keepEnergy, refillBelow, durationSec],
      ...[maxSunPerEnergy, dailyCapCredits, idleAfterSec, until, terms.isDurationChosen],
      ...[terms.transfer === undefined ? null : storedTransfer(terms.transfer), judged.transferEnergy ?? null],
    ];
    return this.database.transaction(async (tx) => {
      await witness(tx, 'auto-delegation.set', projectId, { address, apiKeyId, ...terms });
      const replaced = await this.row(tx, REPLACE, columns);
      if (replaced !== undefined) return { ...replaced, isNew: false, costs };
      await tx.query(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, [COUNTING, projectId]);
      // Another request may have inserted it before the lock.
      const made = await this.row(tx, REPLACE, columns);
      if (made !== undefined) return { ...made, isNew: false, costs };
      await this.admit(tx, projectId);
      return { ...required(await this.row(tx, INSERT, columns)), isNew: true, costs };
    });
  }

  /** An address that can receive no energy has no transfer to simulate either: the first reason is more useful. */
  private async judged<Costs>(
    address: string,
    judge: () => Judged<Costs> | Promise<Judged<Costs>>,
  ): Promise<Judged<Costs>> {
    try {
      return await judge();
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'TRANSFER_WOULD_FAIL') throw error;
      throw (await this.receiverCheck.refusalOf(address, false)) ?? error;
    }
  }

  /** Throws 404. */
  async get(projectId: string, address: string): Promise<ShownAutoDelegation> {
    requireAddress(address);
    return required(await this.row(this.database, GET, [projectId, address]));
  }

  /** Returns the newest, after the page that ended at `cursor`. Throws 400 INVALID_REQUEST for a foreign cursor. */
  async page({ projectId, status, limit, cursor }: PageRequest): Promise<ListPage<ShownAutoDelegation>> {
    const before = cursor === undefined ? null : idIn('a', cursor, 'auto-delegations');
    const chainAt = this.chainNow();
    const params = [projectId, before, status ?? null, chainAt ?? null, limit + 1];
    const found = await this.database.query<Found>(LIST, params);
    const rows = found.map(({ row, now }) => ({ row, shown: { at: now, chainAt } }));
    return cutPage(rows, limit, ({ row }) => cursorAt('a', row.id));
  }

  /** Returns the newest addresses with purchases charged to an API key, and their total number. */
  async setBy(
    projectId: string,
    apiKeyId: string,
    limit: number,
  ): Promise<{ readonly addresses: readonly string[]; readonly count: number }> {
    const found = await this.database.query<{ address: string; count: number }>(
      `SELECT address, count(*) OVER ()::integer AS count FROM auto_delegation
        WHERE project_id = $1 AND api_key_id = $2 ORDER BY id DESC LIMIT $3`,
      [projectId, apiKeyId, limit],
    );
    return { addresses: found.map(({ address }) => address), count: found[0]?.count ?? 0 };
  }

  /** Requests an immediate check, as after a use of the address. Throws 404. */
  async wake(projectId: string, address: string, witness: Witness): Promise<ShownAutoDelegation> {
    requireAddress(address);
    return this.database.transaction(async (tx) => {
      await witness(tx, 'auto-delegation.wake', projectId, { address });
      return required(await this.row(tx, WAKE_UP, [projectId, address]));
    });
  }

  /**
   * Changes only the credits that it may spend per UTC day. With 0 it buys nothing until the cap is raised. Throws 404.
   */
  async setCap(
    projectId: string,
    address: string,
    dailyCapCredits: Credits,
    witness: Witness,
  ): Promise<ShownAutoDelegation> {
    requireAddress(address);
    return this.database.transaction(async (tx) => {
      await witness(tx, 'auto-delegation.cap', projectId, { address, dailyCapCredits });
      return required(await this.row(tx, SET_CAP, [projectId, address, dailyCapCredits]));
    });
  }

  /** Ends all further purchases. Running rentals continue to their end. Throws 404. */
  async delete(projectId: string, address: string, witness: Witness): Promise<void> {
    requireAddress(address);
    await this.database.transaction(async (tx) => {
      await witness(tx, 'auto-delegation.delete', projectId, { address });
      if ((await tx.query(DELETE, [projectId, address])).length === 0) throw noSuchAutoDelegation();
    });
  }

  private async admit(tx: Queryable, projectId: string): Promise<void> {
    const { perProjectMax } = this.config.autoDelegations;
    const [counted] = await tx.query<{ made: number }>(
      `SELECT count(*)::integer AS made FROM auto_delegation WHERE project_id = $1`,
      [projectId],
    );
    if (counted === undefined || counted.made < perProjectMax) return;
    const words = `A project can have at most ${perProjectMax.toString()} auto-delegations. Delete one first.`;
    throw new ApiError('LIMIT_REACHED', words);
  }

  /** Test projects are refused: refills follow the use of an address on chain, and test orders have none. */
  private async refuseTestProject(projectId: string): Promise<void> {
    if ((await this.database.query(`SELECT FROM project WHERE id = $1 AND test`, [projectId])).length === 0) return;
    const words = 'A test project has no auto-delegations: they follow the use of an address on chain.';
    throw new ApiError('RECEIVER_NOT_SUPPORTED', words);
  }

  private async row(
    on: Queryable,
    statement: { readonly name: string; readonly text: string },
    params: readonly unknown[],
  ): Promise<ShownAutoDelegation | undefined> {
    const [found] = await on.query<Found>(statement, params);
    return found && { row: found.row, shown: { at: found.now, chainAt: this.chainNow() } };
  }

  /** The chain's time, if this process follows it; a command does not. */
  private chainNow(): Date | undefined {
    const head = this.client.pool.head;
    return head && new Date(head.timestampMs);
  }

  /** Returns the chain's time, or the database's if that is unknown. */
  private async now(): Promise<Date> {
    const chainAt = this.chainNow();
    if (chainAt !== undefined) return chainAt;
    const [clock] = await this.database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    invariant(clock !== undefined, 'a statement without a table has one row');
    return clock.now;
  }
}

function required(found: ShownAutoDelegation | undefined): ShownAutoDelegation {
  if (found === undefined) throw noSuchAutoDelegation();
  return found;
}

/** A text that is no address has no auto-delegation, and Postgres might reject it as a string. */
function requireAddress(text: string): void {
  if (!isAddress(text)) throw noSuchAutoDelegation();
}

function noSuchAutoDelegation(): ApiError {
  return new ApiError('NOT_FOUND', 'This project has no auto-delegation for this address.');
}
