/**
 * Guards against records that may have lost commits (a failover, a restored backup, a copied disk). The worker then
 * builds, drops, refunds and ends nothing until the reconciler has searched the chain for missing records, however long
 * that takes.
 */
import { Injectable } from '@nestjs/common';
import { solidHeightOf } from '../../../platform/chain/solid-height.js';
import { TronClient } from '../../../platform/chain/tron.client.js';
import { sleep } from '../../../platform/support/clock.js';
import { Config } from '../../../platform/config/config.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { Database } from '../../../platform/database/database.js';
import { wakePostponedOrders } from '../../order-records/order-schedule.js';
import { RECOVERY_HOLD_SEC } from '../../order-records/recovery-condition.js';

/** If the last search is more recent by the database's clock, the service was hardly absent. */
const ABSENCE_SEC = 600;
/** Three minutes of the main network. */
const NEAR_HEAD_BLOCKS = 60;
const CHECK_MS = 1000;
/** Checks between log lines about stopped fulfilment. */
const LOG_EVERY_CHECKS = 60;

const STATE = `SELECT server_mark, search_mark, search_until, scanned_to, server_mark() AS mark,
    coalesce(searched_at < clock_timestamp() - $1 * interval '1 second', false) AS absent FROM reconcile_state`;

/** The first worker ever adopts the current server as the original one. */
const ADOPT_MARK = `UPDATE reconcile_state SET server_mark = $1 WHERE server_mark IS NULL`;

const BEGIN_SEARCH = `UPDATE reconcile_state SET search_mark = $1, search_until = $2 WHERE search_mark IS DISTINCT FROM $1 RETURNING true`;

const END_SEARCH = `UPDATE reconcile_state SET server_mark = $1, search_mark = NULL, search_until = NULL
  WHERE search_mark = $1 AND scanned_at >= search_until RETURNING true`;

interface GateState {
  readonly server_mark: string | null;
  readonly search_mark: string | null;
  readonly search_until: Date | null;
  readonly scanned_to: bigint | null;
  readonly mark: string;
  readonly absent: boolean;
}

@Injectable()
export class StartupGate {
  constructor(
    private readonly database: Database,
    private readonly client: TronClient,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /**
   * Resolves once the records are known to be complete: immediately after a short absence, otherwise after the search.
   * Never rejects.
   */
  async wait(signal: AbortSignal): Promise<void> {
    let target: number | undefined;
    for (let checks = 0; !signal.aborted; checks += 1) {
      try {
        const state = await this.readState();
        const isSame = await this.checkServer(state);
        if (state.absent && !(await this.isScannedLately(state))) {
          target ??= (await solidHeightOf(this.client.pool)).number;
        }
        if (isSame && (target === undefined || Number(state.scanned_to ?? 0n) >= target)) return;
        if (checks % LOG_EVERY_CHECKS === 0) {
          this.log.error(
            { upTo: target, effect: 'no order is fulfilled until the chain is searched' },
            'searching the chain for unrecorded transactions',
          );
        }
      } catch (error) {
        this.log.warn({ fault: messageOf(error) }, 'failed to check for unrecorded transactions');
      }
      await sleep(CHECK_MS, signal);
    }
  }

  /** Watches for a failover or restore while the worker runs. Claims stop by themselves in that time. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.checkServer(await this.readState());
      } catch (error) {
        this.log.warn({ fault: messageOf(error) }, 'failed to check for a failover or restore');
      }
      await sleep(CHECK_MS, signal);
    }
  }

  /** Returns true if the records belong to this server and data. Otherwise begins or ends the search of their past. */
  async checkServer(state: GateState): Promise<boolean> {
    const { mark, server_mark: known, search_mark: searched, search_until: until } = state;
    if (known === null) await this.database.query(ADOPT_MARK, [mark]);
    if ((known === null || known === mark) && until === null) return true;
    if (searched !== mark) {
      // A transaction sent earlier can enter a block only until it expires.
      const head = await this.client.head();
      const lastMs = head.timestampMs + this.config.chain.expirationSec * 1000;
      const isNew = await this.database.query(BEGIN_SEARCH, [mark, new Date(lastMs)]);
      if (isNew.length > 0) {
        this.log.error(
          { known, mark, effect: 'no order is fulfilled until the chain is searched' },
          'database server changed or data restored',
        );
      }
      return false;
    }
    const hasEnded = await this.database.transaction(async (tx) => {
      if ((await tx.query(END_SEARCH, [mark])).length === 0) return false;
      // The other server's clock may have been ahead, and its last commits, with the record of that, may be lost.
      await wakePostponedOrders(tx, Math.max(this.config.worker.leaseSec, RECOVERY_HOLD_SEC) + 1);
      return true;
    });
    if (hasEnded) this.log.warn({ mark }, 'search for unrecorded transactions finished');
    return hasEnded;
  }

  /**
   * Returns true if the search is within 60 blocks of the solid head. The search keeps its progress when workers are
   * killed, so a new worker need not finish it within one life.
   */
  private async isScannedLately({ scanned_to: scannedTo }: GateState): Promise<boolean> {
    if (scannedTo === null) return false;
    return (await solidHeightOf(this.client.pool)).number - Number(scannedTo) <= NEAR_HEAD_BLOCKS;
  }

  async readState(): Promise<GateState> {
    const [state] = await this.database.query<GateState>(STATE, [ABSENCE_SEC]);
    if (state === undefined) throw new Error('the row of reconcile_state is missing');
    return state;
  }
}
