/**
 * Which nonces were used, so that a signed request is taken once (docs/interface.md §2). They are kept in Redis, which may
 * forget them: an epoch beside them says since when it remembers, and what was signed earlier is refused with the time to
 * sign again with. From the first failure of Redis until a nonce's life has passed without one, Postgres keeps them too.
 * Should Redis fail some processes only, a read could be taken once on each side; a purchase never, whose key is made of
 * its nonce.
 */
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { monotonicMs, nowMs } from '../base/clock.js';
import { Config } from '../config/config.js';
import { ApiError, invariant } from '../domain/errors.js';
import type { Caller } from '../http/pipeline/request-context.js';
import { Metrics } from '../observability/metrics.js';
import type { Witness } from '../store/audit-log.js';
import { CLOCK_IS_STEADY } from '../store/confirmed-clock.js';
import { Database } from '../store/database.js';
import { WINDOW_SEC } from './hmac-signature.js';

/** A nonce matters as long as its timestamp may be accepted: the window both ways, to the end of the last second. */
const KEPT_SEC = 2 * WINDOW_SEC + 1;

const INSERT = {
  name: 'nonce-insert',
  text: `INSERT INTO request_nonce (project_id, nonce, expires_at)
         VALUES ($1, $2, clock_timestamp() + make_interval(secs => ${KEPT_SEC.toString()})) ON CONFLICT DO NOTHING RETURNING nonce`,
};

/** A hundred times what a write brings. */
const PRUNE_SOME = {
  name: 'nonce-prune-some',
  text: `DELETE FROM request_nonce WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM request_nonce WHERE expires_at < clock_timestamp() AND ${CLOCK_IS_STEADY} LIMIT 100))`,
};

/** What Redis says: whether the nonce is new to it, and since which second it remembers. */
interface Remembered {
  readonly isNew: boolean;
  readonly sinceSec: number;
}

@Injectable()
export class Nonces {
  private readonly prefix: string;
  /** When Redis last failed this process; Postgres is asked too until all nonces of before have expired. */
  private failedMs = Number.NEGATIVE_INFINITY;
  /** The second of the first of its failures that no nonce's life without one has followed: those since are in Postgres. */
  private awaySinceSec = 0;

  constructor(
    config: Config,
    private readonly redis: Redis,
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {
    this.prefix = `${config.redis.prefix}:nonce`;
    // As soon as there is a Redis, empty or not, so that the first requests are signed later than that.
    redis.on('ready', () => {
      redis.set(`${this.prefix}-epoch`, secondNow(), 'NX').catch(() => undefined);
    });
  }

  /**
   * Uses the nonce of a request whose signature was found good. Throws 401 SIGNATURE_REPLAYED when it was used before,
   * 401 SIGNATURE_TIMESTAMP_OUT_OF_RANGE when that is unknown of so early a request, 503 AUTH_UNAVAILABLE.
   */
  async use(projectId: string, nonce: string, timestampSec: number): Promise<void> {
    const remembered = await this.inRedis(projectId, nonce);
    if (remembered?.isNew === false) throw replayed();
    if (remembered === undefined || this.hasFailedLately()) {
      await this.inPostgres(projectId, nonce);
    }
    const sinceSec = remembered?.sinceSec ?? this.awaySinceSec;
    if (timestampSec <= sinceSec) throw beforeMemory(timestampSec, sinceSec);
  }

  private async inRedis(projectId: string, nonce: string): Promise<Remembered | undefined> {
    try {
      // The connection's own limits hold: refused at once while Redis is away, after a second when it hangs.
      return await this.ask(`${this.prefix}:${projectId}:${nonce}`);
    } catch {
      if (!this.hasFailedLately()) this.awaySinceSec = secondNow();
      this.failedMs = monotonicMs();
      this.metrics.nonceFallbacks.inc();
      return undefined;
    }
  }

  /** Whether Redis failed within a nonce's life: what was used since is in Postgres, whatever Redis answered. */
  private hasFailedLately(): boolean {
    return monotonicMs() - this.failedMs < KEPT_SEC * 1000;
  }

  /** The nonce is put first: an epoch that is found afterwards is one that the nonce was kept under. */
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

  private async inPostgres(projectId: string, nonce: string): Promise<void> {
    let isNew: boolean;
    try {
      isNew = (await this.database.query(INSERT, [projectId, nonce])).length === 1;
    } catch (cause) {
      const words = 'The request cannot be verified just now; try again shortly.';
      throw new ApiError('AUTH_UNAVAILABLE', words, { retryAfterSec: 1, cause });
    }
    if (!isNew) throw replayed();
  }
}

/**
 * Uses the nonce of a request that changes something, in the transaction that makes the change: a replay changes nothing,
 * whatever became of the other nonces. Apart from those, which the guard keeps. Throws 401 SIGNATURE_REPLAYED.
 */
export function nonceOf({ nonce, project }: Caller): Witness {
  invariant(nonce !== undefined, 'these paths take requests signed by HMAC alone');
  return async (tx) => {
    if ((await tx.query(INSERT, [project.id, `write:${nonce}`])).length === 0) throw replayed();
    await tx.query(PRUNE_SOME);
  };
}

/** Refuses a timestamp, and says which one to sign with instead. */
export function outOfRange(serverTime: number): ApiError {
  const words = `X-CC-Timestamp is too far from server_time; sign again with a time within ${WINDOW_SEC.toString()} s of it.`;
  return new ApiError('SIGNATURE_TIMESTAMP_OUT_OF_RANGE', words, { serverTime });
}

/** Refuses a timestamp from before the service began to remember nonces: one of then may have been used. */
function beforeMemory(timestampSec: number, sinceSec: number): ApiError {
  const words =
    `X-CC-Timestamp ${timestampSec.toString()} is not after ${sinceSec.toString()}, when the service began to remember nonces: ` +
    'its store of them was emptied, or is new. Nothing was done; sign again with server_time.';
  return new ApiError('SIGNATURE_TIMESTAMP_OUT_OF_RANGE', words, { serverTime: Math.max(secondNow(), sinceSec + 1) });
}

/** Whole Unix seconds by this machine's clock. */
export function secondNow(): number {
  return Math.floor(nowMs() / 1000);
}

function replayed(): ApiError {
  return new ApiError('SIGNATURE_REPLAYED', 'This X-CC-Nonce was used already; sign every request with a new one.');
}
