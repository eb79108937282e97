/** Places rentals and activations, each exactly once. */
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { OrderAnnouncements } from './order-announcements.js';
import { OrderCommits } from './order-commits.js';
import { OrderPricing } from './order-pricing.js';
import type { RequestedOrder } from './orders.dto.js';
import { PurchaseOutcomes } from './purchase-outcomes.js';
import { PurchaseQueue } from './purchase-queue.js';
import { purchaseOf, type Accepted, type OrderContext, type Purchase } from './purchase.js';
import { RefusalThrottle } from './refusal-throttle.js';
import { Replays } from './replays.js';

@Injectable()
export class OrdersService {
  constructor(
    private readonly replays: Replays,
    private readonly orderPricing: OrderPricing,
    private readonly refusalThrottle: RefusalThrottle,
    private readonly purchaseQueue: PurchaseQueue,
    private readonly orderCommits: OrderCommits,
    private readonly orderAnnouncements: OrderAnnouncements,
    private readonly purchaseOutcomes: PurchaseOutcomes,
    private readonly config: Config,
  ) {}

  /**
   * Buys energy at a quote's price or at the current price, or activates an account; or replays the order of the key.
   * Throws ApiError with any code of the interface from 400 to 503. Those from 402 on leave nothing behind. After a 503
   * the outcome may be unknown: a retry with the same key finds it, and every error contains the key.
   */
  async create(order: RequestedOrder, context: OrderContext): Promise<Accepted> {
    const purchase = purchaseOf(order, context, this.config.chain.tokenContract);
    const earlier = this.replays.waitForFirst(purchase);
    const placing = this.place(purchase, earlier);
    this.replays.shareOutcome(purchase, placing);
    const accepted = await this.purchaseOutcomes.countOutcome(purchase, placing);
    if (accepted.isReplay) this.replays.countReplay(accepted);
    return accepted;
  }

  /** Judges in the order of docs/interface.md §9: a replay takes precedence over every refusal. */
  private async place(purchase: Purchase, earlier: Promise<Accepted | undefined>): Promise<Accepted> {
    const repeated = await earlier;
    if (repeated !== undefined) return repeated;
    const pricing = this.orderPricing.start(purchase);
    const replay = await this.replays.findSeenOrder(purchase);
    if (replay !== undefined) return replay;
    const priced = await pricing;
    await this.refusalThrottle.refuseEarly(purchase, priced);
    const committed = await this.purchaseQueue.run(purchase.project.id, () =>
      this.orderCommits.commit(purchase, priced),
    );
    this.orderAnnouncements.announce(purchase, committed);
    return committed;
  }
}
