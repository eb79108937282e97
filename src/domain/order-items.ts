/** The parts of an order: energy, and bandwidth and the activation of its receiver beside it. Pure. */
import { creditsOf } from './conversion.js';
import type { LegKind } from './order-state.js';
import type { Credits, Energy, RateE8, Sun } from './units.js';

/** The share of one part in the price and the charge of an order. */
export interface PartPrice {
  readonly priceSun: Sun;
  readonly credits: Credits;
}

export interface BandwidthPart extends PartPrice {
  readonly units: bigint;
}

/** The parts beside energy; absent if not asked for. */
export interface FurtherParts {
  readonly bandwidth?: BandwidthPart | undefined;
  readonly activation?: PartPrice | undefined;
}

/** The prices of an order's parts, before they are added up. */
export interface PricedParts {
  readonly energySun: Sun;
  readonly bandwidth?: { readonly units: bigint; readonly priceSun: Sun } | undefined;
  readonly activationSun?: Sun | undefined;
}

/**
 * Returns the one price and charge of all parts. The charge of a part is the difference of two rounded running sums, so
 * that the charges of the parts add up to that of the order.
 */
export function sumOfParts(
  { energySun, bandwidth, activationSun }: PricedParts,
  rate: RateE8,
): PartPrice & FurtherParts {
  const upToBandwidth = (energySun + (bandwidth?.priceSun ?? 0n)) as Sun;
  const priceSun = (upToBandwidth + (activationSun ?? 0n)) as Sun;
  const between = (from: Sun, to: Sun): Credits => (creditsOf(to, rate) - creditsOf(from, rate)) as Credits;
  return {
    priceSun,
    credits: creditsOf(priceSun, rate),
    ...(bandwidth !== undefined && { bandwidth: { ...bandwidth, credits: between(energySun, upToBandwidth) } }),
    ...(activationSun !== undefined && {
      activation: { priceSun: activationSun, credits: between(upToBandwidth, priceSun) },
    }),
  };
}

/** Returns the share of energy: the rest of the price and the charge. */
export function energyPartOf({ priceSun, credits, bandwidth, activation }: PartPrice & FurtherParts): PartPrice {
  return {
    priceSun: (priceSun - (bandwidth?.priceSun ?? 0n) - (activation?.priceSun ?? 0n)) as Sun,
    credits: (credits - (bandwidth?.credits ?? 0n) - (activation?.credits ?? 0n)) as Credits,
  };
}

/** One part of an order, with its amount: energy, units of bandwidth, or one activation. */
export interface OrderItem extends PartPrice {
  readonly kind: 'energy' | 'bandwidth' | 'activation';
  readonly amount: bigint;
}

/** Returns the parts of an order in the order of their charges. They add up to its price and its charge. */
export function itemsOf(order: PartPrice & FurtherParts & { readonly energy: Energy }): readonly OrderItem[] {
  const { energy: amount, bandwidth, activation } = order;
  return [
    { kind: 'energy', amount, ...energyPartOf(order) },
    ...(bandwidth === undefined
      ? []
      : [
          {
            kind: 'bandwidth' as const,
            amount: bandwidth.units,
            priceSun: bandwidth.priceSun,
            credits: bandwidth.credits,
          },
        ]),
    ...(activation === undefined ? [] : [{ kind: 'activation' as const, amount: 1n, ...activation }]),
  ];
}

/** Returns the part of an order that a leg delivers. */
export const partOf = (kind: LegKind): OrderItem['kind'] => (kind === 'rental' ? 'energy' : kind);
