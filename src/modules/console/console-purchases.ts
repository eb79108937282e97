/**
 * Purchases that an owner confirms in the console: one for each form, by the key that the form made when it opened. The
 * database function of each judges session, figures and cap again, charges the project's key for the console, and
 * records the act.
 */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { newPurchaseReference } from '../../platform/support/purchase-reference.js';
import { Log } from '../../platform/observability/logger.js';
import { ApiError, invariant, messageOf } from '../../domain/errors.js';
import { energy } from '../../domain/units.js';
import { PurchaseOutcomes } from '../orders/purchase-outcomes.js';
import { PurchaseQueue } from '../orders/purchase-queue.js';
import { keyReused, refusalNamed } from '../orders/refusals.js';
import { requestHash } from '../orders/request-hash.js';
import { StatementRepeater } from '../orders/statement-repeater.js';
import { priceAddedTime } from '../quotes/bandwidth-price.js';
import { furtherPartsOf, usesOf } from '../quotes/quote.dto.js';
import type { ConsoleCaller } from './authority.js';
import { OrderRecordReader } from './order-records.js';
import { obstacleOf, purchaseLimitsOf, type PurchaseLimits } from './purchase-limits.js';
import { assertConfirmed, orderTermsOf, priceRose, receiverRefusal } from './purchase-prices.js';
import type { ConfirmedExtension, ConfirmedPurchase, Purchased } from './purchase-shapes.js';
import { buyInConsole, extendInConsole, type MadePurchase } from './purchase-statements.js';
import { SaleRecords } from './sale-records.js';

/** The figures of a refusal that is known before the statement, which a replay precedes. */
interface Prepared<Terms> {
  readonly terms: Terms | undefined;
  readonly refusal: ApiError | undefined;
}

interface Attempt {
  readonly kind: 'rental' | 'extension';
  readonly caller: ConsoleCaller;
  readonly projectId: string;
  readonly limits: PurchaseLimits;
  readonly key: string;
  readonly refusal: ApiError | undefined;
  readonly credits: bigint | undefined;
  readonly run: (lockWaitMs: number) => Promise<MadePurchase>;
}

@Injectable()
export class ConsolePurchases {
  constructor(
    private readonly database: Database,
    private readonly saleRecords: SaleRecords,
    private readonly orderRecordReader: OrderRecordReader,
    private readonly queue: PurchaseQueue,
    private readonly repeater: StatementRepeater,
    private readonly outcomes: PurchaseOutcomes,
    private readonly config: ConsoleConfig,
    private readonly log: Log,
  ) {}

  /** Buys at most at the confirmed price, once for each key. A refusal leaves nothing behind. */
  async buy(caller: ConsoleCaller, projectId: string, request: ConfirmedPurchase): Promise<Purchased> {
    const { key, credits: confirmed, receive_address: receiveAddress, duration_sec: durationSec } = request;
    const expectedUses = usesOf(request.expected_uses, durationSec);
    const limits = await purchaseLimitsOf(this.database, projectId);
    const { terms, refusal } = await prepared(async () => {
      const refused = receiverRefusal(receiveAddress, limits.test, request.activate);
      if (refused !== undefined) throw refused;
      const { pool, sales } = this.config;
      const priced = orderTermsOf(request, await this.saleRecords.figures(), { ...pool, ...sales });
      assertConfirmed(priced.credits, confirmed);
      return priced;
    });
    const hash = requestHash({
      kind: 'direct',
      receiveAddress,
      energy: energy(request.energy),
      durationSec,
      expectedUses,
      ...furtherPartsOf(request),
    });
    const { sessionId } = caller;
    const madeBy = newPurchaseReference(caller.requestId);
    const judged = terms === undefined ? { refusal: codeOf(refusal) } : { terms };
    const isReplay = await this.make({
      ...{ kind: 'rental', caller, projectId, limits, key, refusal, credits: terms?.credits },
      run: (lockWaitMs) => buyInConsole(this.database, { sessionId, key, hash, madeBy, lockWaitMs, judged }),
    });
    return { order: key, is_replay: isReplay };
  }

  /** Extends a running rental, as `buy` does. */
  async extend(caller: ConsoleCaller, projectId: string, request: ConfirmedExtension): Promise<Purchased> {
    const { key, credits: confirmed, duration_sec: durationSec } = request;
    const expectedUses = usesOf(request.expected_uses, durationSec);
    const limits = await purchaseLimitsOf(this.database, projectId);
    const order = await this.orderRecordReader.read(projectId, request.order);
    const { terms, refusal } = await prepared(async () => {
      const { energy: sold, bandwidth } = order;
      if (sold === null) throw refusalNamed('NOT_EXTENDABLE', undefined);
      const figures = await this.saleRecords.figures();
      const priced = priceAddedTime(figures, { energy: sold, bandwidth }, durationSec, expectedUses);
      assertConfirmed(priced.credits, confirmed);
      const headAt = order.chain_at;
      if (headAt === null) throw chainTimeUnknown();
      return { ...priced, durationSec, expectedUses, headAt };
    });
    const hash = requestHash({ kind: 'extension', orderKey: order.key, durationSec, expectedUses });
    const { sessionId } = caller;
    const madeBy = newPurchaseReference(caller.requestId);
    const judged = terms === undefined ? { refusal: codeOf(refusal) } : { terms };
    const isReplay = await this.make({
      ...{ kind: 'extension', caller, projectId, limits, key, refusal, credits: terms?.credits },
      run: (lockWaitMs) =>
        extendInConsole(this.database, order.id, { sessionId, key, hash, madeBy, lockWaitMs, judged }),
    });
    return { order: order.key, is_replay: isReplay };
  }

  /** Runs the statement until its outcome is known. Returns true if the purchase was made before. */
  private async make({ kind, caller, projectId, key, limits, refusal, credits, run }: Attempt): Promise<boolean> {
    const { requestId } = caller;
    const refused = (code: string) => this.refusalOf(code, { projectId, key, refusal, credits });
    const take = async (): Promise<{ readonly isReplay: boolean }> => {
      try {
        const { row } = await this.queue.run(projectId, () => this.repeater.repeatUntilKnown(run));
        if (row.refusal !== null) throw await refused(row.refusal);
        if (!row.same_request) throw formUsed(key);
        return { isReplay: !row.created };
      } catch (error) {
        throw isRefusal(error) ? await refused(messageOf(error)) : error;
      }
    };
    try {
      const counted = { kind, project: { isTest: limits.test }, key: { value: key } };
      const { isReplay } = await this.outcomes.countOutcome(counted, take());
      if (!isReplay) this.log.info({ projectId, requestId, kind, key }, 'console purchase made');
      return isReplay;
    } catch (error) {
      throw error instanceof ApiError && isUnknown(error) ? outcomeUnknown(error) : error;
    }
  }

  private async refusalOf(
    code: string,
    { projectId, key, refusal, credits }: Pick<Attempt, 'projectId' | 'key' | 'refusal' | 'credits'>,
  ): Promise<ApiError> {
    if (refusal?.code === code) return refusal;
    if (code === keyReused().code) return formUsed(key);
    if (code === 'QUOTE_EXPIRED') return priceRose();
    if (code === 'KEY_SCOPE') {
      return new ApiError(code, 'Only an owner who signed in within the last ten minutes can buy. Sign in again.');
    }
    const known = refusalNamed(code, undefined);
    if (known.status !== 402 && known.code !== 'PROJECT_FROZEN') return known;
    const limits = await purchaseLimitsOf(this.database, projectId).catch(() => undefined);
    const obstacle = limits === undefined ? undefined : obstacleOf(limits, credits ?? 0n);
    return obstacle === undefined ? known : new ApiError(known.code, obstacle);
  }
}

/** Returns an error of pricing as a result, since a replay takes precedence over it. */
async function prepared<Terms>(price: () => Promise<Terms>): Promise<Prepared<Terms>> {
  try {
    return { terms: await price(), refusal: undefined };
  } catch (error) {
    if (error instanceof ApiError) return { terms: undefined, refusal: error };
    throw error;
  }
}

function codeOf(refusal: ApiError | undefined): string {
  invariant(refusal !== undefined, 'a purchase without terms has a refusal');
  return refusal.code;
}

function formUsed(key: string): ApiError {
  return new ApiError(
    'IDEMPOTENCY_KEY_REUSED',
    `This form has already bought something else, and nothing more was bought. Its key is ${key}. Open a new form to buy more.`,
  );
}

const isUnknown = ({ code }: ApiError): boolean => code === 'SERVICE_UNAVAILABLE' || code === 'INTERNAL_ERROR';

function outcomeUnknown(cause: ApiError): ApiError {
  return new ApiError(
    'SERVICE_UNAVAILABLE',
    'It is not known if this was bought. Confirm this form again: it buys at most once, and shows what it has bought.',
    { cause: cause.cause ?? cause, retryAfterSec: cause.retryAfterSec ?? 2 },
  );
}

function chainTimeUnknown(): ApiError {
  return new ApiError('CHAIN_UNAVAILABLE', 'The time of the chain is unknown at present. Try again shortly.', {
    retryAfterSec: 3,
  });
}
