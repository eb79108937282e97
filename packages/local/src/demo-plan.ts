/**
 * The purchases of the demo's projects in the month before it began, with their outcomes. Pure and deterministic by
 * seed and end; independent of chain and database.
 */
import { createHash } from 'node:crypto';
import { TEST_ADDRESSES } from '../../../src/domain/test-addresses.js';
import { namedChainAccount } from './chain-account.js';
import { Seeded } from './seeded.js';

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** All purchases are over at least this long before the demo begins. */
const QUIET_MS = 5 * MINUTE_MS;
/** Time until the reclaim of a rental is final. */
const AFTERMATH_MS = 5 * MINUTE_MS;
/** Share of orders whose delegation never reached a block. */
const REFUNDED_SHARE = 0.012;
/** Growth of daily orders over the month. */
const GROWTH = 0.6;
/** Share of orders with a prior quote. */
const QUOTED_SHARE = 0.7;

export interface Sort {
  readonly share: number;
  /** Undefined for an activation. */
  readonly energy: number | undefined;
  readonly durationSec: number;
}

export interface Profile {
  readonly name: string;
  readonly isTest: boolean;
  readonly perDay: number;
  /** Orders on a Saturday or Sunday, relative to a weekday. */
  readonly weekend: number;
  /** Orders placed together on a Friday morning. */
  readonly fridayBatch: number;
  /** Weights of the hours of a day, UTC. */
  readonly hours: readonly number[];
  readonly sorts: readonly Sort[];
  readonly receivers: readonly string[];
  readonly label: string;
  /** Opening balance, and the usual top-up when the balance falls below a fifth of it, USD. */
  readonly topUpUsd: number;
  readonly paysIn: 'USDT' | 'TRX';
}

const OFFICE = [2, 1, 1, 1, 1, 2, 4, 7, 10, 11, 11, 9, 8, 10, 11, 10, 9, 7, 6, 5, 5, 4, 3, 3];
const AROUND_THE_CLOCK = [6, 5, 4, 4, 4, 5, 6, 7, 8, 9, 9, 8, 8, 9, 10, 10, 9, 9, 8, 8, 7, 7, 7, 6];

const TRANSFER = { energy: 65_000, durationSec: 600 } as const;
const TRANSFER_TO_NEW = { energy: 131_000, durationSec: 3600 } as const;
const DAY_SEC = 86_400;

const receiversOf = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => namedChainAccount(`demo-${name}-${index.toString()}`).address);

/** The demo buys for the first project; the last one is a test project. */
export const PROFILES: readonly Profile[] = [
  {
    name: 'Northwind Wallet',
    isTest: false,
    perDay: 22,
    weekend: 0.55,
    fridayBatch: 0,
    hours: OFFICE,
    sorts: [
      { share: 0.44, ...TRANSFER },
      { share: 0.3, ...TRANSFER_TO_NEW },
      { share: 0.15, energy: 65_000, durationSec: 3600 },
      { share: 0.05, energy: 262_000, durationSec: DAY_SEC },
      { share: 0.06, energy: undefined, durationSec: 0 },
    ],
    receivers: receiversOf('northwind', 14),
    label: 'payout',
    topUpUsd: 150,
    paysIn: 'USDT',
  },
  {
    name: 'Kestrel Exchange',
    isTest: false,
    perDay: 9,
    weekend: 0.9,
    fridayBatch: 0,
    hours: AROUND_THE_CLOCK,
    sorts: [
      { share: 0.4, energy: 262_000, durationSec: 3600 },
      { share: 0.3, energy: 650_000, durationSec: DAY_SEC },
      { share: 0.2, energy: 131_000, durationSec: 3600 },
      { share: 0.1, energy: 1_300_000, durationSec: 3 * DAY_SEC },
    ],
    receivers: receiversOf('kestrel', 5),
    label: 'sweep',
    topUpUsd: 500,
    paysIn: 'USDT',
  },
  {
    name: 'Lumen Payroll',
    isTest: false,
    perDay: 1.5,
    weekend: 0.2,
    fridayBatch: 24,
    hours: OFFICE,
    sorts: [
      { share: 0.75, ...TRANSFER },
      { share: 0.25, ...TRANSFER_TO_NEW },
    ],
    receivers: receiversOf('lumen', 24),
    label: 'salary',
    topUpUsd: 120,
    paysIn: 'TRX',
  },
  {
    name: 'Northwind Wallet (test)',
    isTest: true,
    perDay: 3,
    weekend: 0.1,
    fridayBatch: 0,
    hours: OFFICE,
    sorts: [
      { share: 0.8, ...TRANSFER },
      { share: 0.2, ...TRANSFER_TO_NEW },
    ],
    receivers: [TEST_ADDRESSES.delivered, TEST_ADDRESSES['delivered late'], TEST_ADDRESSES.refunded],
    label: 'rehearsal',
    topUpUsd: 1000,
    paysIn: 'USDT',
  },
];

export interface PlannedOrder {
  /** Index in PROFILES. */
  readonly project: number;
  readonly key: string;
  readonly reference: string;
  readonly quoteId: string | undefined;
  readonly receiver: string;
  readonly energy: number | undefined;
  readonly durationSec: number;
  readonly createdMs: number;
  readonly isRefunded: boolean;
  /** Time from the order to its block: two to five seconds, sometimes with a missed block. */
  readonly waitMs: number;
  /** Time from the rental's end to the block of its reclaim. */
  readonly lateMs: number;
}

/** Returns every order from `startMs` on that is over, with its rental, before `endMs`; oldest first. */
export function planOrders(seed: number, startMs: number, endMs: number): readonly PlannedOrder[] {
  const random = new Seeded(seed);
  const orders: PlannedOrder[] = [];
  const firstDay = Math.floor(startMs / DAY_MS) * DAY_MS;
  for (const [project, profile] of PROFILES.entries()) {
    for (let dayMs = firstDay; dayMs < endMs; dayMs += DAY_MS) {
      const grown = 1 - GROWTH / 2 + (GROWTH * (dayMs - firstDay)) / (endMs - firstDay);
      for (const createdMs of timesOf(random, profile, dayMs, grown)) {
        const order = planned(random, project, createdMs);
        if (createdMs < startMs + HOUR_MS || overMs(order) > endMs - QUIET_MS) continue;
        orders.push(order);
      }
    }
  }
  orders.sort((a, b) => a.createdMs - b.createdMs);
  return orders.map((order, index) => ({ ...order, ...namesOf(order, index) }));
}

const overMs = ({ createdMs, durationSec }: PlannedOrder): number => createdMs + durationSec * 1000 + AFTERMATH_MS;

function timesOf(random: Seeded, profile: Profile, dayMs: number, grown: number): readonly number[] {
  const weekday = new Date(dayMs).getUTCDay();
  const isWeekend = weekday === 0 || weekday === 6;
  const expected = profile.perDay * grown * (isWeekend ? profile.weekend : 1) * random.between(0.75, 1.25);
  const times = Array.from(
    { length: Math.floor(expected) + (random.chance(expected % 1) ? 1 : 0) },
    () => dayMs + random.weighted(profile.hours) * HOUR_MS + random.between(0, HOUR_MS),
  );
  const batchMs = dayMs + 9.5 * HOUR_MS;
  const batch =
    weekday === 5
      ? Array.from({ length: profile.fridayBatch }, (_, index) => batchMs + index * 20_000 + random.between(0, 15_000))
      : [];
  return [...times, ...batch].map(Math.floor);
}

function planned(random: Seeded, project: number, createdMs: number): PlannedOrder {
  const { sorts, receivers, isTest } = PROFILES[project] ?? { sorts: [], receivers: [], isTest: false };
  const { energy, durationSec } = sorts[random.weighted(sorts.map(({ share }) => share))] ?? TRANSFER;
  const number = random.uuid();
  // Favours the first receivers.
  const usual = receivers[Math.floor(receivers.length * random.between(0, 1) ** 1.6)] ?? '';
  const receiver = energy === undefined ? namedChainAccount(`demo-new-${number}`).address : usual;
  const isRefunded = isTest
    ? receiver === TEST_ADDRESSES.refunded
    : energy !== undefined && random.chance(REFUNDED_SHARE);
  return {
    ...{ project, receiver, energy, durationSec, createdMs, isRefunded, key: '', reference: '' },
    quoteId: energy !== undefined && random.chance(QUOTED_SHARE) ? random.uuid() : undefined,
    waitMs: Math.floor(random.between(400, 2800)) + (random.chance(0.04) ? 6000 : 0),
    lateMs: Math.floor(random.between(3000, 12_000)),
  };
}

/** Returns a key and a reference in the style of a merchant's own numbering. */
function namesOf({ project, receiver, createdMs }: PlannedOrder, index: number) {
  const label = PROFILES[project]?.label ?? '';
  const day = new Date(createdMs).toISOString().slice(0, 10);
  const customer = (Number.parseInt(createHash('sha256').update(receiver).digest('hex').slice(0, 6), 16) % 9000) + 1000;
  return {
    key: `${label}-${(48_210 + index).toString()}`,
    reference: label === 'salary' ? `run ${day}` : `customer ${customer.toString()}`,
  };
}
