/** Terms and prices of purchases in the console, before their confirmation. Reads only. */
import { Injectable } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { Database } from '../../platform/database/database.js';
import { itemsOf } from '../../domain/order-items.js';
import { bandwidthTable, longestDurationSec } from '../../domain/price.js';
import { energy } from '../../domain/units.js';
import { refusalNamed } from '../orders/refusals.js';
import { priceAddedTime } from '../quotes/bandwidth-price.js';
import { Prices } from '../quotes/prices.js';
import { usesOf } from '../quotes/quote.dto.js';
import { money, withoutNull } from './answers.js';
import { isRunning } from './order-page.js';
import { OrderRecordReader } from './order-records.js';
import { purchaseLimitsOf } from './purchase-limits.js';
import { orderTermsOf, previewOf, receiverRefusal } from './purchase-prices.js';
import type { PurchasePreview, PurchaseTerms, WantedExtension, WantedPurchase } from './purchase-shapes.js';
import { SaleRecords } from './sale-records.js';

/** The order of a form's key: its own, or the one that it extended. */
const BOUGHT = {
  name: 'console_bought',
  text: `SELECT o.key FROM orders o WHERE o.project_id = $1 AND o.key = $2
    UNION ALL SELECT o.key FROM order_extension x JOIN orders o ON o.id = x.order_id
     WHERE x.project_id = $1 AND x.key = $2 LIMIT 1`,
};

@Injectable()
export class PurchasePreviews {
  constructor(
    private readonly database: Database,
    private readonly saleRecords: SaleRecords,
    private readonly prices: Prices,
    private readonly orderRecordReader: OrderRecordReader,
    private readonly config: ConsoleConfig,
  ) {}

  /**
   * Returns the amounts, durations and limits of a form. `key`: the form's own key, to find its order. Throws NOT_FOUND
   * without the project.
   */
  async terms(projectId: string, key: string | undefined): Promise<PurchaseTerms> {
    const limits = await purchaseLimitsOf(this.database, projectId);
    const { balance_credits: balance, console_cap: cap, console_left: left } = limits;
    const rows = await this.prices.list();
    const [bought] = key === undefined ? [] : await this.database.query<{ key: string }>(BOUGHT, [projectId, key]);
    const { warmEnergy, coldEnergy } = this.config.market;
    return withoutNull<PurchaseTerms>({
      amounts: { holder: warmEnergy, new_holder: coldEnergy },
      durations: rows.map(({ durationMaxSec }) => durationMaxSec).sort((one, other) => one - other),
      bandwidth_max_sec: longestDurationSec(bandwidthTable(rows).rows) || undefined,
      balance: money(balance),
      cap: cap === null || left === null ? undefined : { daily: money(cap), left: money(left < 0n ? 0n : left) },
      bought: bought?.key,
    });
  }

  /** Throws the errors of a direct order that are known without a node. */
  async preview(projectId: string, wanted: WantedPurchase): Promise<PurchasePreview> {
    const limits = await purchaseLimitsOf(this.database, projectId);
    const refused = receiverRefusal(wanted.receive_address, limits.test, wanted.activate);
    if (refused !== undefined) throw refused;
    const figures = await this.saleRecords.figures();
    const uses = usesOf(wanted.expected_uses, wanted.duration_sec) ?? 1;
    const price = orderTermsOf(wanted, figures, { ...this.config.pool, ...this.config.sales });
    const { receive_address: receiver, duration_sec: durationSec } = wanted;
    const amount = energy(wanted.energy);
    const priced = {
      ...{ receiver, amount, durationSec, uses, price },
      bandwidth: price.bandwidth?.units,
      accountFeeSun: price.activation?.amountSun,
      items: itemsOf({ ...price, energy: amount }),
    };
    return previewOf(priced, figures.fees, limits);
  }

  /** Throws NOT_FOUND, NOT_EXTENDABLE and the errors of an extension that are known without a node. */
  async extensionPreview(projectId: string, wanted: WantedExtension): Promise<PurchasePreview> {
    const limits = await purchaseLimitsOf(this.database, projectId);
    const order = await this.orderRecordReader.read(projectId, wanted.order);
    if (!isRunning(order) || order.energy === null) throw refusalNamed('NOT_EXTENDABLE', undefined);
    const figures = await this.saleRecords.figures();
    const { duration_sec: durationSec } = wanted;
    const uses = usesOf(wanted.expected_uses, durationSec) ?? 1;
    const amount = energy(order.energy);
    const price = priceAddedTime(figures, { energy: amount, bandwidth: order.bandwidth }, durationSec, uses);
    const endsAt = order.ends_at === null ? undefined : new Date(order.ends_at.getTime() + durationSec * 1000);
    return {
      ...previewOf(
        { receiver: order.receive_address, amount, bandwidth: order.bandwidth, durationSec, uses, price },
        figures.fees,
        limits,
      ),
      ...(endsAt !== undefined && { ends_at: endsAt.toISOString() }),
    };
  }
}
