/** Buys and finds orders. Fixes an order's terms before any transaction; acceptance.ts takes the order exactly once. */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { ApiError } from '../../domain/errors.js';
import type { ProjectRecord } from '../../platform/http/pipeline/request-context.js';
import { energy } from '../../domain/units.js';
import { QuotesService, type OpenQuote } from '../quotes/quotes.service.js';
import { Acceptance } from './acceptance.js';
import { DirectTerms, type DirectRequest } from './direct-terms.js';
import type { Accepted, OrderContext, Prepared, PurchaseContext } from './purchase.js';
import { OrdersByKey } from './order-rows.js';
import { isPending } from '../../domain/order-state.js';
import { orderBody, type OrderBody, type RequestedOrder, type UnlabelledOrderRequest } from './orders.dto.js';
import { ReceiverCheck } from './receiver.js';
import { requestHash, withoutDefaultToken } from './request-hash.js';
import { OrderWaits } from './waits.js';

/** An order to answer with. `isReplay`: an earlier request created it. */
export interface OrderAnswer {
  readonly body: OrderBody;
  readonly isReplay: boolean;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly acceptance: Acceptance,
    private readonly quotes: QuotesService,
    private readonly directTerms: DirectTerms,
    private readonly receivers: ReceiverCheck,
    private readonly orderWaits: OrderWaits,
    private readonly ordersByKey: OrdersByKey,
    private readonly config: Config,
  ) {}

  /**
   * Buys energy at a quote's price or at the current price. Throws ApiError with any code of the interface from 400 to
   * 503. Those from 402 on leave nothing behind.
   */
  async create({ terms: asked, named }: RequestedOrder, context: OrderContext): Promise<OrderAnswer> {
    const terms = withoutDefaultToken(asked, this.config.chain.tokenContract);
    const askedMs = monotonicMs();
    const accepted = await this.acceptance.takeOrder({
      projectId: context.project.id,
      isTest: context.project.isTest,
      apiKeyId: context.apiKeyId,
      kind: 'rental',
      key: context.key,
      hash: requestHash(terms),
      requestId: context.requestId,
      labels: context.labels,
      prepare: () =>
        terms.kind === 'quoted'
          ? this.prepareQuoted({ ref: terms.ref, askedMs }, named, context.project)
          : this.prepareDirect(terms, context.project),
    });
    return this.answer(accepted, context);
  }

  /** Holds the answer while the caller wants to wait and the order is not final, then returns the current order. */
  async answer(accepted: Accepted, context: PurchaseContext): Promise<OrderAnswer> {
    const { row, isReplay } = accepted;
    return this.waitForOutcome({ body: orderBody(row), isReplay }, context.project.id, context.waitSec);
  }

  /** Returns the answer, or after at most `waitSec` the current order. Holds no database connection meanwhile. */
  async waitForOutcome(answer: OrderAnswer, projectId: string, waitSec: number): Promise<OrderAnswer> {
    const { body, isReplay } = answer;
    if (waitSec <= 0 || !isPending(body.status)) return answer;
    await this.orderWaits.waitForOutcome(projectId, BigInt(body.id), waitSec);
    // The order is taken. If it cannot be read again, answer with its known state.
    const latest = await this.find(projectId, body.key).catch(() => undefined);
    return { body: latest ?? body, isReplay };
  }

  /** Returns the project's order of this key; undefined if none exists or another project has it. */
  async find(projectId: string, key: string): Promise<OrderBody | undefined> {
    const row = await this.ordersByKey.find(projectId, key);
    return row === undefined ? undefined : orderBody(row);
  }

  /**
   * Judges in the order of docs/interface.md §9: token (404) → used → expired → mismatch → receiver → capacity →
   * credits.
   */
  private async prepareQuoted(
    { ref, askedMs }: { readonly ref: string; readonly askedMs: number },
    named: UnlabelledOrderRequest,
    project: ProjectRecord,
  ): Promise<Prepared> {
    const quote = this.quotes.openQuote(ref, project.id);
    if (quote === undefined) {
      const refusal = new ApiError(
        'QUOTE_NOT_FOUND',
        'This quote does not exist or belongs to another project. Request a new one.',
      );
      return { terms: undefined, refusal };
    }
    const sized = this.directTerms.capacityOf(quote);
    const refusal =
      mismatchOf(named, quote) ??
      (await this.receivers.refusalOf(quote.receiveAddress, project.isTest)) ??
      (sized instanceof ApiError ? sized : undefined);
    const { receiveAddress, durationSec, expectedUses, priceSun, credits, rate } = quote;
    return {
      terms: {
        ...{ receiveAddress, energy: quote.energy, durationSec, expectedUses, priceSun, credits, rate },
        // The amount is never reserved after a refusal. The quote's own terms keep the order of judgement.
        ...(sized instanceof ApiError ? { amountSun: priceSun, legSlackSun: priceSun, legsMax: 1n } : sized),
        quote: { id: quote.id, expiresAtMs: quote.expiresAtMs, askedMs },
      },
      refusal,
    };
  }

  private async prepareDirect(request: DirectRequest, project: ProjectRecord): Promise<Prepared> {
    if (project.requireQuote) {
      const refusal = new ApiError('QUOTE_REQUIRED', 'This project requires a quote. Send a quote_ref.');
      return { terms: undefined, refusal };
    }
    return this.directTerms.prepare({ ...request, isTest: project.isTest });
  }
}

/** Compares only members that the caller sent, not defaults (docs/interface.md §9). */
function mismatchOf(
  request: UnlabelledOrderRequest,
  quote: Pick<OpenQuote, 'receiveAddress' | 'energy' | 'durationSec' | 'expectedUses'>,
): ApiError | undefined {
  const named: readonly (readonly [string, boolean])[] = [
    ['receive_address', request.receive_address !== undefined && request.receive_address !== quote.receiveAddress],
    ['energy', request.energy !== undefined && energy(request.energy) !== quote.energy],
    ['duration_sec', request.duration_sec !== undefined && request.duration_sec !== quote.durationSec],
    ['expected_uses', request.expected_uses !== undefined && request.expected_uses !== (quote.expectedUses ?? 1)],
  ];
  const wrong = named.filter(([, differs]) => differs).map(([field]) => field);
  if (wrong.length === 0) return undefined;
  return new ApiError('QUOTE_MISMATCH', `The order has a different ${wrong.join(', ')} than its quote.`);
}
