/** Buys, finds and lists orders: terms are fixed here, before any transaction; acceptance.ts takes them exactly once. */
import { Injectable } from '@nestjs/common';
import { ChainUnavailableError } from '../chain/errors.js';
import { Config } from '../config/config.js';
import { ApiError, invalidField, invariant } from '../domain/errors.js';
import type { ProjectRecord } from '../http/pipeline/request-context.js';
import { ListQueue } from '../http/pipeline/list-queue.js';
import { energy, type Energy, type Sun } from '../domain/units.js';
import { priceFloor } from '../pool/bandwidth.js';
import { marginFor, sunForEnergy, sunOfOneEnergy } from '../pool/energy-ratio.js';
import { Market } from '../quotes/market.js';
import { DEFAULT_DURATION_SEC, legsAffordable } from '../domain/price.js';
import { QuotesService } from '../quotes/quotes.service.js';
import { Database } from '../store/database.js';
import { Acceptance } from './acceptance.js';
import type { Accepted, OrderTerms, Prepared, PurchaseContext } from './purchase.js';
import { ID_MAX, LIST_ALL, LIST_BY_STATUS, OrdersByKey, type OrderRow } from './order-rows.js';
import { isPending, type OrderStatus } from '../domain/order-state.js';
import { orderBody, type OrderBody, type OrderRequest } from './orders.dto.js';
import { ReceiverCheck, chainAway } from './receiver.js';
import { requestHash, type RequestTerms } from './request-hash.js';
import { OrderWaits } from './waits.js';

/** An order to answer with, and whether it was there before. */
export interface OrderAnswer {
  readonly body: OrderBody;
  readonly isReplay: boolean;
}

export interface OrderPage {
  readonly items: readonly OrderBody[];
  readonly next_cursor?: string;
}

type Sized = Pick<OrderTerms, 'amountSun' | 'legSlackSun' | 'legsMax'>;

/** What decides how much the pool must hold for a sale, and in how many parts. */
interface Sale {
  readonly energy: Energy;
  readonly durationSec: number;
  readonly priceSun: Sun;
}

@Injectable()
export class OrdersService {
  constructor(
    private readonly acceptance: Acceptance,
    private readonly quotes: QuotesService,
    private readonly market: Market,
    private readonly receivers: ReceiverCheck,
    private readonly waits: OrderWaits,
    private readonly orders: OrdersByKey,
    private readonly database: Database,
    private readonly lists: ListQueue,
    private readonly config: Config,
  ) {}

  /**
   * Buys energy, at a quote's price or at the price of this moment. Throws ApiError with any code of the interface
   * from 400 to 503; of those from 402 on nothing stays behind.
   */
  async create(request: OrderRequest, context: PurchaseContext): Promise<OrderAnswer> {
    const terms = this.termsOf(request);
    const accepted = await this.acceptance.take({
      projectId: context.project.id,
      apiKeyId: context.apiKeyId,
      kind: 'rental',
      key: context.key,
      hash: requestHash(terms),
      requestId: context.requestId,
      prepare: () =>
        terms.kind === 'quoted'
          ? this.prepareQuoted(terms.ref, request, context.project)
          : this.prepareDirect(terms, context.project),
    });
    return this.answer(accepted, context);
  }

  /** Holds the answer as long as the caller wants and the order is not final, then shows the order as it is. */
  async answer(accepted: Accepted, context: PurchaseContext): Promise<OrderAnswer> {
    const { row, isReplay } = accepted;
    return this.hold({ body: orderBody(row), isReplay }, context.project.id, context.waitSec);
  }

  /** The answer itself, or after at most `waitSec` the order as it is by then. Holds no connection meanwhile. */
  async hold(answer: OrderAnswer, projectId: string, waitSec: number): Promise<OrderAnswer> {
    const { body, isReplay } = answer;
    if (waitSec <= 0 || !isPending(body.status)) return answer;
    await this.waits.until(BigInt(body.id), waitSec);
    // The order is taken: if it cannot be read again just now, the answer is what is known of it.
    const latest = await this.find(projectId, body.key).catch(() => undefined);
    return { body: latest ?? body, isReplay };
  }

  /** The project's order of this key; undefined when there is none or it is another project's. */
  async find(projectId: string, key: string): Promise<OrderBody | undefined> {
    const row = await this.orders.find(projectId, key);
    return row === undefined ? undefined : orderBody(row);
  }

  /** A project's orders, newest first. `beforeId` continues after the last order of the page before. */
  async list(
    projectId: string,
    status: OrderStatus | undefined,
    limit: number,
    beforeId: bigint | undefined,
  ): Promise<OrderPage> {
    const page = [projectId, beforeId ?? ID_MAX, limit + 1];
    const rows = await this.lists.run(projectId, () =>
      status === undefined
        ? this.database.query<OrderRow>(LIST_ALL, page)
        : this.database.query<OrderRow>(LIST_BY_STATUS, [...page, status]),
    );
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(orderBody),
      ...(rows.length > limit && last !== undefined && { next_cursor: cursorAfter(last.id) }),
    };
  }

  private termsOf(request: OrderRequest): Extract<RequestTerms, { kind: 'quoted' | 'direct' }> {
    if (request.quote_ref !== undefined) return { kind: 'quoted', ref: request.quote_ref };
    if (request.receive_address === undefined) throw invalidField('receive_address', 'is required without a quote_ref');
    return {
      kind: 'direct',
      receiveAddress: request.receive_address,
      energy: request.energy === undefined ? undefined : energy(request.energy),
      durationSec: request.duration_sec ?? DEFAULT_DURATION_SEC,
    };
  }

  /** In the order of docs/interface.md §9: token (404) → used → expired → mismatch → receiver → capacity → credits. */
  private async prepareQuoted(ref: string, request: OrderRequest, project: ProjectRecord): Promise<Prepared> {
    const quote = this.quotes.openQuote(ref, project.id);
    if (quote === undefined) {
      const refusal = new ApiError('QUOTE_NOT_FOUND', 'There is no such quote for this project.');
      return { terms: undefined, refusal };
    }
    const sized = this.capacityOf(quote);
    const refusal =
      mismatchOf(request, quote) ??
      (await this.receivers.refusalOf(quote.receiveAddress)) ??
      (sized instanceof ApiError ? sized : undefined);
    const { receiveAddress, durationSec, priceSun, credits, rate } = quote;
    return {
      terms: {
        ...{ receiveAddress, energy: quote.energy, durationSec, priceSun, credits, rate },
        // With a refusal the amount is never taken; the quote's own terms still let it be judged in order.
        ...(sized instanceof ApiError ? { amountSun: priceSun, legSlackSun: priceSun, legsMax: 1n } : sized),
        quote: { id: quote.id, expiresAtMs: quote.expiresAtMs },
      },
      refusal,
    };
  }

  private async prepareDirect(
    request: { readonly receiveAddress: string; readonly energy: Energy | undefined; readonly durationSec: number },
    project: ProjectRecord,
  ): Promise<Prepared> {
    if (project.requireQuote) {
      const refusal = new ApiError('QUOTE_REQUIRED', 'This project orders by quote only; send a quote_ref.');
      return { terms: undefined, refusal };
    }
    const { receiveAddress, durationSec } = request;
    const wanted = {
      receiveAddress,
      durationSec,
      ...(request.energy !== undefined && { energy: request.energy }),
    };
    const [priced, receiver] = await Promise.all([
      this.quotes.price(wanted).catch(asChainRefusal),
      this.receivers.refusalOf(receiveAddress),
    ]);
    if (priced instanceof ApiError) return { terms: undefined, refusal: priced };
    const sized = this.capacityOf({ ...priced, durationSec });
    if (sized instanceof ApiError) return { terms: undefined, refusal: receiver ?? sized };
    const { priceSun, credits, rate } = priced;
    return {
      terms: { receiveAddress, energy: priced.energy, durationSec, priceSun, credits, rate, ...sized },
      refusal: receiver,
    };
  }

  /**
   * What the pool must hold for this energy at the ratio of the moment, or why that is unknown. Our choice: the legs
   * of a quoted order too by the fee of now, since its price is sealed but its transactions are paid for now.
   */
  private capacityOf({ energy: amount, durationSec, priceSun }: Sale): Sized | ApiError {
    try {
      const { ratio, transactionFeeSunPerByte } = this.market.current();
      return {
        legsMax: legsAffordable(priceSun, priceFloor(transactionFeeSunPerByte, this.config.sales.priceFloorBps)),
        amountSun: sunForEnergy(amount, ratio, marginFor(durationSec, this.config.pool.marginBps)),
        legSlackSun: sunOfOneEnergy(ratio),
      };
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }
}

/** A refusal is a result here, since a replay comes before it; anything else stays a fault. */
function asChainRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ChainUnavailableError) return chainAway(error);
  throw error;
}

/** Only what the caller named is compared; a default is not named (docs/interface.md §9). */
function mismatchOf(
  request: OrderRequest,
  quote: { readonly receiveAddress: string; readonly energy: Energy; readonly durationSec: number },
): ApiError | undefined {
  const named: readonly (readonly [string, boolean])[] = [
    ['receive_address', request.receive_address !== undefined && request.receive_address !== quote.receiveAddress],
    ['energy', request.energy !== undefined && energy(request.energy) !== quote.energy],
    ['duration_sec', request.duration_sec !== undefined && request.duration_sec !== quote.durationSec],
  ];
  const wrong = named.filter(([, differs]) => differs).map(([field]) => field);
  if (wrong.length === 0) return undefined;
  return new ApiError('QUOTE_MISMATCH', `The order names another ${wrong.join(', ')} than its quote.`);
}

/** Opaque to callers; holds the last id shown. */
function cursorAfter(id: bigint): string {
  return Buffer.from(`o${id.toString()}`).toString('base64url');
}

/** The id behind a cursor. Throws 400 for one we never gave. */
export function readCursor(cursor: string): bigint {
  const match = /^o([1-9]\d{0,17})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'));
  const id = match?.[1];
  if (id === undefined) throw invalidField('cursor', 'is not one that a page of orders returned');
  const value = BigInt(id);
  invariant(value > 0n, 'ids begin at one');
  return value;
}
