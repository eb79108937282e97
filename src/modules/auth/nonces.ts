/**
 * Records used nonces, so that a signed request is accepted once (docs/interface.md §2). Redis keeps them and may lose
 * them. An epoch beside them records since when Redis remembers. Earlier signed requests are refused with the time to
 * sign again with. After a failure of Redis, Postgres keeps nonces too, until a nonce's lifetime has passed without
 * another failure.
 *
 * If Redis fails for some processes only, a read could be accepted once on each side. A purchase cannot: its key is
 * derived from its nonce.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { monotonicMs, nowMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError, invariant } from '../../domain/errors.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';
import { Metrics } from '../../platform/observability/metrics.js';
import type { Witness } from '../../platform/database/audit-log.js';
import { CLOCK_IS_STEADY } from '../../platform/database/confirmed-clock.js';
import { Database } from '../../platform/database/database.js';
import { WINDOW_SEC } from './hmac-signature.js';

/** A nonce matters while its timestamp is acceptable: the window in both directions, to the end of the last second. */
const KEPT_SEC = 2 * WINDOW_SEC + 1;

const INSERT = {
  name: 'nonce-insert',
  text: `INSERT INTO request_nonce (project_id, nonce, expires_at)
         VALUES ($1, $2, clock_timestamp() + make_interval(secs => ${KEPT_SEC.toString()})) ON CONFLICT DO NOTHING RETURNING nonce`,
};

/** Deletes at most a hundred rows for each one written. The subquery for the time lets it use the index. */
export const PRUNE_SOME = {
  name: 'nonce-prune-some',
  text: `DELETE FROM request_nonce WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM request_nonce WHERE expires_at < (SELECT clock_timestamp()) AND ${CLOCK_IS_STEADY} LIMIT 100))`,
};

/** The answer of Redis: if the nonce is new, and the second since which Redis remembers. */
interface Remembered {
  readonly isNew: boolean;
  readonly sinceSec: number;
}

@Injectable()
export class Nonces {
  private readonly prefix: string;
  /** The last time that Redis failed this process. Until all earlier nonces have expired, Postgres is used too. */
  private failedMs = Number.NEGATIVE_INFINITY;
  /**
   * The second of the first failure in the current series. A series ends when a nonce's lifetime passes without a
   * failure. Postgres has all nonces since then.
   */
  private awaySinceSec = 0;

  constructor(
    config: Config,
    private readonly redis: Redis,
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {
    this.prefix = `${config.redis.prefix}:nonce`;
    // Set as soon as Redis is ready, empty or not, so that the first requests are signed later than the epoch.
    redis.on('ready', () => {
      redis.set(`${this.prefix}-epoch`, secondNow(), 'NX').catch(() => undefined);
    });
  }

  /**
   * Uses the nonce of a request with a valid signature. Throws 401 SIGNATURE_REPLAYED when it was used before, 401
   * SIGNATURE_TIMESTAMP_OUT_OF_RANGE when the request predates the memory of nonces, 503 AUTH_UNAVAILABLE.
   */
  async use(projectId: string, nonce: string, timestampSec: number): Promise<void> {
    const remembered = await this.rememberInRedis(projectId, nonce);
    if (remembered?.isNew === false) throw replayed();
    if (remembered === undefined || this.hasFailedLately()) {
      await this.rememberInPostgres(projectId, nonce);
    }
    const sinceSec = remembered?.sinceSec ?? this.awaySinceSec;
    if (timestampSec <= sinceSec) throw beforeMemory(timestampSec, sinceSec);
  }

  private async rememberInRedis(projectId: string, nonce: string): Promise<Remembered | undefined> {
    try {
      // Bounded by the connection's own limits: it fails immediately while Redis is away, and after a second when Redis
      // hangs.
      return await this.ask(`${this.prefix}:${projectId}:${nonce}`);
    } catch {
      if (!this.hasFailedLately()) this.awaySinceSec = secondNow();
      this.failedMs = monotonicMs();
      this.metrics.nonceFallbacks.inc();
      return undefined;
    }
  }

  /**
   * Returns true if Redis failed within a nonce's lifetime. Nonces used since are in Postgres, regardless of Redis's
   * answer.
   */
  private hasFailedLately(): boolean {
    return monotonicMs() - this.failedMs < KEPT_SEC * 1000;
  }

  /** Sets the nonce before it reads the epoch, so that the nonce was stored under the epoch found. */
  private async ask(key: string): Promise<Remembered> {
    const epochKey = `${this.prefix}-epoch`;
    const answers = await this.redis.pipeline().set(key, '1', 'EX', KEPT_SEC, 'NX').get(epochKey).exec();
    const [set, epoch] = (answers ?? []).map(([error, answer]) => {
      if (error !== null) throw error;
      return answer;
    });
    if (answers === null) throw new Error('Redis did not answer');
    if (typeof epoch === 'string') return { isNew: set === 'OK', sinceSec: Number(epoch) };
    // Redis was emptied: it remembers from now on.
    await this.redis.set(epochKey, secondNow(), 'NX');
    return { isNew: set === 'OK', sinceSec: Number((await this.redis.get(epochKey)) ?? secondNow()) };
  }

  private async rememberInPostgres(projectId: string, nonce: string): Promise<void> {
    let isNew: boolean;
    try {
      isNew = (await this.database.query(INSERT, [projectId, nonce])).length === 1;
    } catch (cause) {
      const words = 'The request cannot be verified at present. Try again shortly.';
      throw new ApiError('AUTH_UNAVAILABLE', words, { retryAfterSec: 1, cause });
    }
    if (!isNew) throw replayed();
  }
}

/**
 * Uses the nonce of a changing request in the transaction of the change. So a replay changes nothing, even if the other
 * nonces are lost. Separate from the guard's nonces. Throws 401 SIGNATURE_REPLAYED.
 */
export function nonceOf({ nonce, project }: Caller): Witness {
  invariant(nonce !== undefined, 'these paths take requests signed by HMAC alone');
  return async (tx) => {
    if ((await tx.query(INSERT, [project.id, `write:${nonce}`])).length === 0) throw replayed();
    await tx.query(PRUNE_SOME);
  };
}

/** Refuses a timestamp and returns the server's time to sign with instead. */
export function outOfRange(serverTime: number): ApiError {
  const words = `X-CC-Timestamp is too far from server_time. Sign again with a time within ${WINDOW_SEC.toString()} s of it.`;
  return new ApiError('SIGNATURE_TIMESTAMP_OUT_OF_RANGE', words, { serverTime });
}

/** Refuses a timestamp from before the service began to remember nonces: that nonce may have been used. */
function beforeMemory(timestampSec: number, sinceSec: number): ApiError {
  const words =
    `X-CC-Timestamp ${timestampSec.toString()} is not after ${sinceSec.toString()}, the time since which the service remembers nonces: ` +
    'its nonce store is new or was emptied. Nothing was done. Sign again with server_time.';
  return new ApiError('SIGNATURE_TIMESTAMP_OUT_OF_RANGE', words, { serverTime: Math.max(secondNow(), sinceSec + 1) });
}

/** Returns whole Unix seconds by this machine's clock. */
export function secondNow(): number {
  return Math.floor(nowMs() / 1000);
}

function replayed(): ApiError {
  return new ApiError('SIGNATURE_REPLAYED', 'This X-CC-Nonce was already used. Sign every request with a new one.');
}
