/**
 * Tracks which wallets can deliver. Failed signatures, signatures that nodes refuse, and consecutive deaths pause a
 * wallet with a reason; it resumes by itself. A trigger of the row derives the wallet's status. Reclaims continue in
 * any state.
 */
import { Injectable } from '@nestjs/common';
import { Signer, signerOf } from '../../../platform/chain/keys.js';
import { buildTransaction } from '../../../platform/chain/signed-transaction.js';
import { messageOf } from '../../../domain/errors.js';
import { Log } from '../../../platform/observability/logger.js';
import { DELEGATION_MIN_SUN } from '../../pool/energy-ratio.js';
import { Database } from '../../../platform/database/database.js';
import { wakeUnsignedReclaims } from '../../order-records/order-schedule.js';
import { ChainView, type View } from '../follow/chain-view.js';
import { forEachConcurrently } from '../../../platform/support/concurrency.js';
import { isDue } from '../../../platform/database/lease-sql.js';
import { lineOf } from '../../../platform/support/foreign-text.js';

/** Consecutive failures that pause a wallet. */
const FAILURES_MAX = 3;
/**
 * First hold after a refusal or deaths: longer than a proof of death takes. Doubles each time until a delivery
 * succeeds.
 */
const HOLD_SEC = 300;
const HOLD_MAX_SEC = 3600;
const REASON_LENGTH_MAX = 300;
const CONCURRENT_PROBES = 8;
/** TRON: the black hole address, which has no owner. The transaction of a probe is never sent. */
const PROBE_RECEIVER = 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb';

const HELD_UNTIL = `clock_timestamp() + least(${HOLD_SEC.toString()} * power(2, least(w.delivery_pauses, 10)), ${HOLD_MAX_SEC.toString()}) * interval '1 second'`;

const NOT_SIGNED = {
  name: 'wallet_not_signed',
  text: `UPDATE pool_wallet w SET sign_failures = w.sign_failures + v.failures, delivery_failed_at = clock_timestamp(),
      delivery_fault = CASE WHEN w.sign_failures + v.failures >= ${FAILURES_MAX.toString()} THEN v.reason ELSE w.delivery_fault END
    FROM (SELECT p.id, f.failures, f.reason, p.delivery_fault IS NULL AS could_deliver FROM pool_wallet p
            JOIN unnest($1::integer[], $2::integer[], $3::text[]) AS f(id, failures, reason) ON f.id = p.id
           ORDER BY p.id FOR NO KEY UPDATE OF p) v
    WHERE w.id = v.id RETURNING w.id, w.address, w.delivery_fault, v.could_deliver`,
};

const SIGNED = {
  name: 'wallet_signed',
  text: `UPDATE pool_wallet w SET sign_failures = 0,
      delivery_fault = CASE WHEN w.delivery_held_until IS NOT NULL THEN w.delivery_fault END
    FROM (SELECT id FROM pool_wallet WHERE id = ANY ($1::integer[]) AND sign_failures > 0 ORDER BY id FOR NO KEY UPDATE) v
    WHERE w.id = v.id RETURNING w.id, w.address, w.delivery_fault`,
};

/** An existing hold is unchanged: repeated refusals must not prolong it. */
const REFUSED = {
  name: 'wallet_refused',
  text: `UPDATE pool_wallet w SET delivery_fault = $2, delivery_failed_at = clock_timestamp(),
      delivery_held_until = ${HELD_UNTIL}, delivery_pauses = w.delivery_pauses + 1
    WHERE w.id = $1 AND w.delivery_held_until IS NULL RETURNING w.address, w.delivery_fault`,
};

/**
 * Consecutive: no delivery of the wallet entered a block since the last death. The order makes the planner use the index
 * of the wallet's changes: for EXISTS it may read all legs.
 */
export const DIED = {
  name: 'wallet_died',
  text: `UPDATE pool_wallet w SET deaths = v.deaths, delivery_failed_at = clock_timestamp(),
      delivery_fault = CASE WHEN v.pauses THEN $2 ELSE w.delivery_fault END,
      delivery_held_until = CASE WHEN v.pauses THEN ${HELD_UNTIL} ELSE w.delivery_held_until END,
      delivery_pauses = w.delivery_pauses + CASE WHEN v.pauses THEN 1 ELSE 0 END
    FROM (SELECT p.id, d.deaths, d.deaths >= ${FAILURES_MAX.toString()} AND p.delivery_held_until IS NULL AS pauses
            FROM pool_wallet p CROSS JOIN LATERAL (SELECT CASE WHEN (
              SELECT changed_at FROM open_leg WHERE wallet_id = p.id AND changed_at > p.delivery_failed_at AND status = 'active'
               ORDER BY changed_at LIMIT 1) IS NOT NULL THEN 1 ELSE p.deaths + 1 END AS deaths) d
           WHERE p.id = $1 FOR NO KEY UPDATE OF p) v
    WHERE w.id = v.id RETURNING w.address, w.delivery_fault, v.pauses`,
};

const HOLD_IS_OVER = isDue('delivery_held_until', HOLD_MAX_SEC);

/** Ends expired holds, and those of a clock that was ahead. The next death pauses the wallet again, for longer. */
const RESUME = {
  name: 'wallet_hold_over',
  text: `UPDATE pool_wallet w SET delivery_held_until = NULL, deaths = least(w.deaths, ${FAILURES_MAX.toString()} - 1),
      delivery_fault = CASE WHEN w.sign_failures >= ${FAILURES_MAX.toString()} THEN w.delivery_fault END
    FROM (SELECT id FROM pool_wallet WHERE ${HOLD_IS_OVER}
           ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) v
    WHERE w.id = v.id RETURNING w.address, w.delivery_fault`,
};

/** A delivery of the wallet entered a block since: reset its counts. */
const RECOVERED = {
  name: 'wallet_recovered',
  text: `UPDATE pool_wallet w SET deaths = 0, delivery_pauses = 0
    FROM (SELECT p.id FROM pool_wallet p WHERE (p.deaths > 0 OR p.delivery_pauses > 0) AND EXISTS (
            SELECT FROM open_leg WHERE wallet_id = p.id AND changed_at > p.delivery_failed_at AND status = 'active')
           ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED) v
    WHERE w.id = v.id`,
};

/** Usually none. */
const TROUBLED = {
  name: 'troubled_wallets',
  text: `SELECT id, address, role, permission_id, key_address, sign_failures >= ${FAILURES_MAX.toString()} AS "isUnsigned"
    FROM pool_wallet
    WHERE delivery_held_until IS NOT NULL OR deaths > 0 OR delivery_pauses > 0 OR sign_failures >= ${FAILURES_MAX.toString()}
    ORDER BY id`,
};

export interface SignFailure {
  readonly walletId: number;
  readonly error: unknown;
}

interface TroubledWallet {
  readonly id: number;
  readonly address: string;
  readonly role: 'pool' | 'activation';
  readonly permission_id: number;
  readonly key_address: string;
  /** Its last signatures failed. */
  readonly isUnsigned: boolean;
}

interface Changed {
  readonly address: string;
  readonly delivery_fault: string | null;
}

@Injectable()
export class WalletHealth {
  constructor(
    private readonly database: Database,
    private readonly signer: Signer,
    private readonly chainView: ChainView,
    private readonly log: Log,
  ) {}

  /** Counts failed signatures. Returns the wallets that cannot deliver now. */
  async recordSignFailures(failures: readonly SignFailure[]): Promise<ReadonlySet<number>> {
    if (failures.length === 0) return new Set();
    const byWallet = new Map<number, { count: number; error: unknown }>();
    for (const { walletId, error } of failures) {
      byWallet.set(walletId, { count: (byWallet.get(walletId)?.count ?? 0) + 1, error });
    }
    const rows = await this.database.query<Changed & { id: number; could_deliver: boolean }>(NOT_SIGNED, [
      [...byWallet.keys()],
      [...byWallet.values()].map(({ count }) => count),
      [...byWallet.values()].map(({ error }) => reasonOf(`its key does not sign: ${messageOf(error)}`)),
    ]);
    const faulty = rows.filter((row) => row.delivery_fault !== null);
    this.report(faulty.filter((row) => row.could_deliver));
    return new Set(faulty.map((row) => row.id));
  }

  /** Records that these wallets signed after failures, and makes their reclaims due. */
  async recordSigned(walletIds: readonly number[]): Promise<void> {
    if (walletIds.length === 0) return;
    const rows = await this.database.query<Changed & { id: number }>(SIGNED, [[...new Set(walletIds)]]);
    this.report(rows);
    if (rows.length === 0) return;
    await wakeUnsignedReclaims(
      this.database,
      rows.map(({ id }) => id),
    );
  }

  /**
   * Records that a node refused a signature of the wallet, and pauses its sales. The refusal proves nothing about the
   * transaction.
   */
  async recordRefusal(walletId: number, message: string): Promise<void> {
    this.report(
      await this.database.query<Changed>(REFUSED, [walletId, reasonOf(`a node refused its signature: ${message}`)]),
    );
  }

  /** Records that a delivery of the wallet was proven dead. */
  async recordDeath(walletId: number): Promise<void> {
    const reason = `${FAILURES_MAX.toString()} of its transactions in a row were never included`;
    const rows = await this.database.query<Changed & { pauses: boolean }>(DIED, [walletId, reason]);
    this.report(rows.filter((row) => row.pauses));
  }

  /** Resumes wallets after their hold, or once their key signs again. */
  async resumeWallets(): Promise<void> {
    const troubled = await this.database.query<TroubledWallet>(TROUBLED);
    if (troubled.length === 0) return;
    this.report(await this.database.query<Changed>(RESUME));
    await this.database.query(RECOVERED);
    const { current } = this.chainView;
    if (current === undefined) return;
    const unsigned = troubled.filter(({ isUnsigned }) => isUnsigned);
    await forEachConcurrently(unsigned, CONCURRENT_PROBES, async (wallet) => {
      if (await this.canSign(wallet, current)) await this.recordSigned([wallet.id]);
    });
  }

  /**
   * Returns true if the wallet's key signs a transaction of its role. TRON: it can never be included, since it expires
   * at a solid head.
   */
  private async canSign(wallet: TroubledWallet, { solid }: View): Promise<boolean> {
    const parties = { owner: wallet.address, receiver: PROBE_RECEIVER };
    try {
      const { rawData } = buildTransaction(
        wallet.role === 'activation'
          ? { type: 'activate', ...parties }
          : { type: 'delegate', ...parties, amountSun: DELEGATION_MIN_SUN, resource: 'ENERGY' },
        {
          permissionId: wallet.permission_id,
          reference: solid,
          expiresAtMs: solid.timestampMs,
          timestampMs: solid.timestampMs,
        },
      );
      return (
        signerOf(rawData, await this.signer.sign(wallet.address, rawData, wallet.key_address)) === wallet.key_address
      );
    } catch {
      return false;
    }
  }

  private report(changed: readonly Changed[]): void {
    for (const { address, delivery_fault: fault } of changed) {
      if (fault === null) this.log.info({ wallet: address }, 'wallet can deliver again');
      else this.log.error({ wallet: address, fault }, 'wallet cannot deliver');
    }
  }
}

function reasonOf(text: string): string {
  return lineOf(text, REASON_LENGTH_MAX);
}
