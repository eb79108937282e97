import type { OrderItem } from '../../domain/order-items.js';
import { toJsonInteger } from '../../domain/units.js';
import { money } from './answers.js';
import type { OrderItemShape } from './data-shapes.js';

/** Returns one part of an order as the pages read it. */
export function itemShape({ kind, amount, priceSun, credits }: OrderItem): OrderItemShape {
  return { kind, amount: toJsonInteger(amount), price_sun: toJsonInteger(priceSun), charged: money(credits) };
}
