/**
 * Purchases that an owner confirms in the console: one for each form, by the key that the form made when it opened. The
 * database function of each judges session, figures and cap again, charges the project's key for the console, and
 * records the act.
 */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Database, isRefusal } from '../../platform/database/database.js';
import { Log } from '../../platform/observability/logger.js';
import { ApiError, invariant, messageOf } from '../../domain/errors.js';
import { energy } from '../../domain/units.js';
import { PurchaseOutcomes } from '../orders/purchase-outcomes.js';
import { PurchaseQueue } from '../orders/purchase-queue.js';
import { playedRefusal } from '../orders/receiver.js';
import { keyReused, refusalNamed } from '../orders/refusals.js';
import { requestHash } from '../orders/request-hash.js';
import { StatementRepeater } from '../orders/statement-repeater.js';
import { priceTime } from '../quotes/direct-price.js';
import { Prices } from '../quotes/prices.js';
import { usesOf } from '../quotes/quote.dto.js';
import { testAddressRefusal } from '../quotes/test-receivers.js';
import { given, money, notFound } from './answers.js';
import type { ConsoleCaller } from './authority.js';
import { isRunning } from './order-page.js';
import { OrderRecordReader, type OrderRecord } from './order-records.js';
import { obstacleOf, purchaseLimitsOf, type PurchaseLimits } from './purchase-limits.js';
import { assertConfirmed, orderTermsOf, previewOf, priceRose } from './purchase-prices.js';
import type {
  ConfirmedExtension,
  ConfirmedPurchase,
  Purchased,
  PurchasePreview,
  PurchaseTerms,
  WantedExtension,
  WantedPurchase,
} from './purchase-shapes.js';
import { buyInConsole, extendInConsole, type MadePurchase } from './purchase-statements.js';
import { SaleRecords } from './sale-records.js';

/** The order of a form's key: its own, or the one that it extended. */
const BOUGHT = {
  name: 'console_bought',
  text: `SELECT o.key FROM orders o WHERE o.project_id = $1 AND o.key = $2
    UNION ALL SELECT o.key FROM order_extension x JOIN orders o ON o.id = x.order_id
     WHERE x.project_id = $1 AND x.key = $2 LIMIT 1`,
};

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
    private readonly sales: SaleRecords,
    private readonly prices: Prices,
    private readonly orders: OrderRecordReader,
    private readonly queue: PurchaseQueue,
    private readonly repeater: StatementRepeater,
    private readonly outcomes: PurchaseOutcomes,
    private readonly config: ConsoleConfig,
    private readonly log: Log,
  ) {}

  /** Returns the amounts, durations and limits of a form. `key`: the form's own key, to find its order. */
  async terms(projectId: string, key: string | undefined): Promise<PurchaseTerms> {
    const limits = await this.limitsOf(projectId);
    const { balance_credits: balance, console_cap: cap, console_left: left } = limits;
    const rows = await this.prices.list();
    const [bought] = key === undefined ? [] : await this.database.query<{ key: string }>(BOUGHT, [projectId, key]);
    const { warmEnergy, coldEnergy } = this.config.market;
    return given<PurchaseTerms>({
      amounts: { holder: warmEnergy, new_holder: coldEnergy },
      durations: rows.map(({ durationMaxSec }) => durationMaxSec).sort((one, other) => one - other),
      balance: money(balance),
      cap: cap === null || left === null ? undefined : { daily: money(cap), left: money(left < 0n ? 0n : left) },
      bought: bought?.key,
    });
  }

  /** Throws the errors of a direct order that are known without a node. */
  async preview(projectId: string, wanted: WantedPurchase): Promise<PurchasePreview> {
    const limits = await this.limitsOf(projectId);
    const refused = receiverRefusal(wanted.receive_address, limits.test);
    if (refused !== undefined) throw refused;
    const figures = await this.sales.figures();
    const uses = usesOf(wanted.expected_uses, wanted.duration_sec) ?? 1;
    const price = orderTermsOf(wanted, figures, this.config.pool.marginBps);
    const { receive_address: receiver, duration_sec: durationSec } = wanted;
    const priced = { receiver, amount: energy(wanted.energy), durationSec, uses, price };
    return previewOf(priced, figures.fees.energyFeeSun, limits);
  }

  /** Throws NOT_FOUND, NOT_EXTENDABLE and the errors of an extension that are known without a node. */
  async extensionPreview(projectId: string, wanted: WantedExtension): Promise<PurchasePreview> {
    const limits = await this.limitsOf(projectId);
    const order = await this.orderOf(projectId, wanted.order);
    if (!isRunning(order) || order.energy === null) throw refusalNamed('NOT_EXTENDABLE', undefined);
    const figures = await this.sales.figures();
    const { duration_sec: durationSec } = wanted;
    const uses = usesOf(wanted.expected_uses, durationSec) ?? 1;
    const amount = energy(order.energy);
    const price = priceTime(figures, amount, durationSec, uses);
    const endsAt = order.ends_at === null ? undefined : new Date(order.ends_at.getTime() + durationSec * 1000);
    return {
      ...previewOf(
        { receiver: order.receive_address, amount, durationSec, uses, price },
        figures.fees.energyFeeSun,
        limits,
      ),
      ...(endsAt !== undefined && { ends_at: endsAt.toISOString() }),
    };
  }

  /** Buys at most at the confirmed price, once for each key. A refusal leaves nothing behind. */
  async buy(caller: ConsoleCaller, projectId: string, request: ConfirmedPurchase): Promise<Purchased> {
    const { key, credits: confirmed, receive_address: receiveAddress, duration_sec: durationSec } = request;
    const expectedUses = usesOf(request.expected_uses, durationSec);
    const limits = await this.limitsOf(projectId);
    const { terms, refusal } = await prepared(async () => {
      const refused = receiverRefusal(receiveAddress, limits.test);
      if (refused !== undefined) throw refused;
      const priced = orderTermsOf(request, await this.sales.figures(), this.config.pool.marginBps);
      assertConfirmed(priced.credits, confirmed);
      return priced;
    });
    const hash = requestHash({
      kind: 'direct',
      receiveAddress,
      energy: energy(request.energy),
      durationSec,
      expectedUses,
    });
    const { sessionId, requestId } = caller;
    const judged = terms === undefined ? { refusal: codeOf(refusal) } : { terms };
    const isReplay = await this.make({
      ...{ kind: 'rental', caller, projectId, limits, key, refusal, credits: terms?.credits },
      run: (lockWaitMs) => buyInConsole(this.database, { sessionId, key, hash, requestId, lockWaitMs, judged }),
    });
    return { order: key, is_replay: isReplay };
  }

  /** Extends a running rental, as `buy` does. */
  async extend(caller: ConsoleCaller, projectId: string, request: ConfirmedExtension): Promise<Purchased> {
    const { key, credits: confirmed, duration_sec: durationSec } = request;
    const expectedUses = usesOf(request.expected_uses, durationSec);
    const limits = await this.limitsOf(projectId);
    const order = await this.orderOf(projectId, request.order);
    const { terms, refusal } = await prepared(async () => {
      if (order.energy === null) throw refusalNamed('NOT_EXTENDABLE', undefined);
      const priced = priceTime(await this.sales.figures(), energy(order.energy), durationSec, expectedUses);
      assertConfirmed(priced.credits, confirmed);
      const headAt = order.chain_at;
      if (headAt === null) throw chainTimeUnknown();
      return { ...priced, durationSec, expectedUses, headAt };
    });
    const hash = requestHash({ kind: 'extension', orderKey: order.key, durationSec, expectedUses });
    const { sessionId, requestId } = caller;
    const judged = terms === undefined ? { refusal: codeOf(refusal) } : { terms };
    const isReplay = await this.make({
      ...{ kind: 'extension', caller, projectId, limits, key, refusal, credits: terms?.credits },
      run: (lockWaitMs) =>
        extendInConsole(this.database, order.id, { sessionId, key, hash, requestId, lockWaitMs, judged }),
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

  private async limitsOf(projectId: string): Promise<PurchaseLimits> {
    const limits = await purchaseLimitsOf(this.database, projectId);
    if (limits === undefined) throw new ApiError('NOT_FOUND', 'No project has this id.');
    return limits;
  }

  private async orderOf(projectId: string, key: string): Promise<OrderRecord> {
    const order = await this.orders.find(projectId, key);
    if (order === undefined) throw notFound('order');
    return order;
  }
}

/** The console asks no node, so that an address that is not on chain is found at delivery. */
function receiverRefusal(address: string, isTest: boolean): ApiError | undefined {
  return isTest ? playedRefusal(address, 'rental') : testAddressRefusal(address, false);
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
