/**
 * The rows that the service would have written during the demo's history, by table. Pure. Each row has every column.
 */
import { createHash } from 'node:crypto';
import type { PastInclusion, PastOnChain, PastTransaction } from './demo-chain.js';
import { PROFILES } from './demo-plan.js';
import { SOLID_MS, type PastOrder, type PastPayment } from './demo-timeline.js';
import { Seeded } from './seeded.js';

export type Row = Readonly<Record<string, unknown>>;
export type Rows = Readonly<Record<string, readonly Row[]>>;

/** Time from a block until a worker has read it. */
const SEEN_MS = 640;
const PLACED_MS = 210;
const REFUND_REASON = 'The energy could not be delivered; the charge was returned.';
/** Of a rental's energy, as far as transfers come out even. */
const USED_SHARE = 0.98;
const TRANSFER_ENERGY = 60_000;
const ACTIVATED = 'activated: nothing is to be reclaimed';

/** Ids assigned by the database, and the owners of the rows. */
export interface Places {
  /** The contract of the token that deposits are paid in. */
  readonly token: string;
  /** The node's name as the service records it. */
  readonly node: string;
  readonly projects: readonly string[];
  readonly poolWallets: readonly { readonly id: number; readonly address: string }[];
  readonly activationWallet: { readonly id: number; readonly address: string };
  readonly depositAddresses: readonly (string | undefined)[];
  /** One order id and one leg id for each order, and two transaction ids. */
  readonly orderIds: readonly number[];
  readonly legIds: readonly number[];
  readonly transactionIds: readonly number[];
  readonly depositIds: readonly number[];
}

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());
const bytea = (bytes: Buffer | string): string => `\\x${Buffer.isBuffer(bytes) ? bytes.toString('hex') : bytes}`;
const number = (value: bigint | undefined): number | null => (value === undefined ? null : Number(value));
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** One order with all dependent rows. */
class OrderRows {
  readonly order: Row;
  readonly legs: readonly Row[];
  readonly transactions: readonly Row[];
  readonly broadcasts: readonly Row[];
  readonly entries: readonly Row[];
  readonly events: readonly Row[];
  readonly uses: readonly Row[];
  private readonly project: string;
  private readonly isTest: boolean;
  private readonly id: number;
  private readonly legId: number;
  private readonly wallet: { readonly id: number; readonly address: string };

  constructor(
    private readonly past: PastOrder,
    private readonly chain: PastOnChain,
    private readonly places: Places,
    index: number,
  ) {
    this.project = places.projects[past.project] ?? '';
    this.isTest = PROFILES[past.project]?.isTest === true;
    this.id = places.orderIds[index] ?? 0;
    this.legId = places.legIds[index] ?? 0;
    this.wallet = (past.wallet === undefined ? undefined : places.poolWallets[past.wallet]) ?? places.activationWallet;
    this.order = this.orderRow();
    this.legs = this.isTest ? [] : [this.legRow()];
    const ids = places.transactionIds.slice(index * 2, index * 2 + 2);
    this.transactions = this.isTest ? [] : this.transactionRows(ids);
    this.broadcasts = this.transactions.map(({ id, sent_at: sentAt }) => ({
      chain_tx_id: id,
      ...{ node: places.node, answer: 'SUCCESS', message: null, sent_at: sentAt },
    }));
    this.entries = this.entryRows();
    this.events = this.eventRows();
    this.uses = this.useRows();
  }

  /** The history has no transfers on chain: each rental counts as used once, in the block after its delivery. */
  private useRows(): Row[] {
    const { energy } = this.past;
    const delivery = this.chain.deliveries.get(this.past);
    if (this.isTest || energy === undefined || delivery === undefined) return [];
    const [used, calls] = [Math.floor(energy * USED_SHARE), Math.max(1, Math.floor(energy / TRANSFER_ENERGY))];
    return [{ order_id: this.id, energy: used, calls, last_block: delivery.block.number + 1 }];
  }

  private orderRow(): Row {
    const { past } = this;
    const isRefunded = past.refundedMs !== undefined;
    const perEnergy = past.energy === undefined ? null : (past.amountSun * 1_000_000n) / BigInt(past.energy);
    return {
      ...{ id: this.id, project_id: this.project, key: past.key, kind: kindOf(past), test: this.isTest },
      request_hash: bytea(hashOf(JSON.stringify(requestOf(past)))),
      quote_id: past.quoteId ?? null,
      status: isRefunded ? 'refunded' : 'delivered',
      receive_address: past.receiver,
      energy: past.energy ?? null,
      duration_sec: past.energy === undefined ? null : past.durationSec,
      price_sun: Number(past.priceSun),
      credits: Number(past.credits),
      trx_usd_e8: Number(past.rateE8),
      request_id: `req_${hashOf(`request ${past.key}`).slice(0, 24)}`,
      reference: past.reference,
      metadata: null,
      created_at: iso(past.createdMs),
      placed_at: iso(past.createdMs + PLACED_MS),
      delivered_at: iso(past.deliveredMs),
      delivered_energy: number(past.deliveredEnergy),
      ends_at: iso(past.endsMs),
      reclaimed_at: iso(past.reclaimedMs),
      sun_per_energy_e6: isRefunded || this.isTest || perEnergy === null ? null : Number(perEnergy),
      error_code: isRefunded ? 'SUPPLIER_REFUSED' : null,
      error: isRefunded ? REFUND_REASON : null,
      ...{ settled: true, needs_attention: false, undoing: false, judged: false, extensions: 0, fence: 3 },
      ...{ next_run_at: null, play_at: null, lease_until: null, top_up_after: null },
    };
  }

  private legRow(): Row {
    const { past } = this;
    const isActivation = past.energy === undefined;
    const endedMs = past.refundedMs ?? past.reclaimedMs ?? past.deliveredMs ?? 0;
    return {
      ...{ id: this.legId, order_id: this.id, leg_no: 1, kind: kindOf(past), wallet_id: this.wallet.id },
      receive_address: past.receiver,
      amount_sun: Number(past.amountSun),
      status: past.refundedMs === undefined ? 'reclaimed' : 'released',
      energy: number(past.deliveredEnergy),
      active_at: iso(past.deliveredMs),
      closed_at: isActivation ? iso(past.deliveredMs) : null,
      closed_by_txid: null,
      closed_reason: isActivation ? ACTIVATED : null,
      changed_at: iso(endedMs + (past.refundedMs === undefined ? SOLID_MS + SEEN_MS : 0)),
      top_up: false,
    };
  }

  private transactionRows([first = 0, second = 0]: readonly number[]): Row[] {
    const { chain, past } = this;
    const lost = chain.lost.get(past);
    const [delivery, reclaim] = [chain.deliveries.get(past), chain.reclaims.get(past)];
    const purpose = past.energy === undefined ? 'activate' : 'delegate';
    if (lost !== undefined) {
      const evidence = {
        expiresAtMs: lost.expiresAtMs,
        absences: [{ node: this.places.node, solidHead: lost.deadAt }],
        scanned: { node: this.places.node, from: chain.reference.number, to: lost.deadAt.number },
      };
      return [{ ...this.transaction(first, purpose, lost, undefined), status: 'dead', evidence }];
    }
    if (delivery === undefined) throw new Error(`order ${this.id.toString()} has no delivery on chain`);
    const rows = [this.transaction(first, purpose, delivery, delivery)];
    return reclaim === undefined ? rows : [...rows, this.transaction(second, 'reclaim', reclaim, reclaim)];
  }

  private transaction(id: number, purpose: string, made: PastTransaction, at: PastInclusion | undefined): Row {
    return {
      ...{ id, order_id: this.id, leg_id: this.legId, wallet_id: this.wallet.id, purpose, attempt: 1, sends: 1 },
      txid: bytea(made.txid),
      raw_data: bytea(made.rawData),
      signature: bytea(made.signature),
      ref_block_number: this.chain.reference.number,
      expires_at: iso(made.expiresAtMs),
      created_at: iso(made.madeMs),
      sent_at: iso(made.madeMs + 60),
      status: 'solid',
      block_number: at?.block.number ?? null,
      block_id: at === undefined ? null : bytea(at.block.id),
      block_at: iso(at?.block.timestampMs),
      fee_sun: number(at?.feeSun),
      evidence: null,
    };
  }

  private entryRows(): Row[] {
    const { past } = this;
    const credits = Number(past.credits);
    const entry = (kind: string, amount: number, ms: number): Row => ({
      ...{ entry_key: `${kind}:${this.id.toString()}`, project_id: this.project, order_id: this.id, kind },
      ...{ contra: this.isTest ? 'test' : 'revenue', credits: amount, actor: null, reason: null },
      ...{ api_key_id: this.project, created_at: iso(ms) },
    });
    const charge = entry('charge', -credits, past.createdMs);
    return past.refundedMs === undefined ? [charge] : [charge, entry('refund', credits, past.refundedMs)];
  }

  /** Returns the moves and events of the order, each with its snapshot. */
  private eventRows(): Row[] {
    const { past } = this;
    const event = (ms: number, type: string | null, more: Row): Row => ({
      ...{ order_id: this.id, project_id: this.project, at: iso(ms), type },
      ...{ from_status: null, to_status: null, chain_at: null, snapshot: null, ...more },
    });
    const begun = [
      event(past.createdMs, 'order.created', {}),
      event(past.createdMs + PLACED_MS, null, { from_status: 'reserved', to_status: 'placed' }),
    ];
    const { deliveredMs, reclaimedMs, refundedMs } = past;
    if (refundedMs !== undefined) {
      const moved = { from_status: 'placed', to_status: 'refunded', snapshot: this.snapshot({}) };
      return [...begun, event(refundedMs, 'order.refunded', moved)];
    }
    if (deliveredMs === undefined) return begun;
    const unsettled = this.snapshot({ settled: false, reclaimed_at: null });
    const delivered = {
      from_status: 'placed',
      to_status: 'delivered',
      chain_at: iso(deliveredMs),
      snapshot: unsettled,
    };
    const settledMs = deliveredMs + (this.isTest ? 10_000 : SOLID_MS) + SEEN_MS;
    const rows = [
      ...begun,
      event(deliveredMs + (this.isTest ? 0 : SEEN_MS), 'order.delivered', delivered),
      event(settledMs, 'order.settled', { snapshot: this.snapshot({ reclaimed_at: null }) }),
    ];
    if (reclaimedMs === undefined) return rows;
    const ended = { chain_at: iso(reclaimedMs), snapshot: this.snapshot({}, this.chain.reclaims.get(past)) };
    return [...rows, event(reclaimedMs + SEEN_MS, 'order.ended', ended)];
  }

  private snapshot(then: Row, reclaim?: PastInclusion): Row {
    const { chain, past } = this;
    const delivery = chain.deliveries.get(past);
    const leg = delivery && {
      ...{ owner: this.wallet.address, txid: delivery.txid, energy: number(past.deliveredEnergy) },
      ...{ amount_sun: Number(past.amountSun), block_number: delivery.block.number },
      ...{ ended_early_by: null, reclaim_txid: reclaim?.txid ?? null },
    };
    const legs = leg === undefined ? null : [leg];
    return { order: { ...this.order, ...then }, legs, compensations: null, extensions: null };
  }
}

/** Returns the request fingerprint of an order without a quote (docs/interface.md §10). */
function requestOf({ key, quoteId, receiver, energy, durationSec }: PastOrder): readonly (string | number)[] {
  if (energy === undefined) return ['activate', receiver];
  return quoteId === undefined ? ['orders', 'direct', receiver, energy.toString(), durationSec] : [key];
}

const kindOf = ({ energy }: PastOrder): string => (energy === undefined ? 'activation' : 'rental');

interface PaymentRows {
  readonly entry: Row;
  readonly deposit: Row | undefined;
  readonly events: readonly Row[];
}

function paymentRows(payment: PastPayment, chain: PastOnChain, places: Places, depositId: number): PaymentRows {
  const { project, credits, enteredMs, onChain } = payment;
  const profile = PROFILES[project];
  const projectId = places.projects[project] ?? '';
  const entry = {
    ...{ project_id: projectId, order_id: null, kind: 'topup', credits: Number(credits), created_at: iso(enteredMs) },
    ...{ contra: profile?.isTest === true ? 'test' : 'funding', api_key_id: null },
  };
  const made = chain.payments.get(payment);
  if (onChain === undefined || made === undefined) {
    const reason = profile?.isTest === true ? 'play money' : 'the first invoice, paid by bank transfer';
    const key = `topup:invoice-${(1041 + project).toString()}`;
    return {
      entry: { ...entry, entry_key: key, actor: 'lena@operator.example', reason },
      deposit: undefined,
      events: [],
    };
  }
  const asset = profile?.paysIn ?? 'USDT';
  const kind = asset === 'USDT' ? 'log' : 'native';
  const key = `deposit:${made.txid}:${kind}:0`;
  const [block, at] = [made.block.number, iso(made.block.timestampMs)];
  const contract = asset === 'USDT' ? places.token : null;
  const about = { place: 0, kind, asset, from_address: made.from, address: places.depositAddresses[project] ?? '' };
  const deposit = {
    ...{ id: depositId, project_id: projectId, txid: bytea(made.txid), ...about, amount: onChain.amount.toString() },
    ...{ contract, block_number: block, block_id: bytea(made.block.id), block_at: at },
    ...{ status: 'credited', reason: null, rate_e8: Number(onChain.rateE8), entry_key: key, credits: Number(credits) },
    ...{ seen_at: iso(made.block.timestampMs + SEEN_MS), changed_at: iso(enteredMs) },
  };
  const event = (ms: number, status: string, more: Row): Row => ({
    ...{ order_id: null, project_id: projectId, at: iso(ms), type: `deposit.${status}`, chain_at: at },
    ...{ from_status: null, to_status: null },
    snapshot: {
      deposit: {
        ...{ ...about, id: depositId.toString(), txid: made.txid, amount: onChain.amount.toString(), status },
        ...{ block_number: block.toString(), block_at: at, reason: null, rate_e8: null, credits: null, ...more },
      },
    },
  });
  const credited = { rate_e8: onChain.rateE8.toString(), credits: credits.toString() };
  return {
    entry: { ...entry, entry_key: key, actor: 'chain', reason: 'deposit' },
    deposit,
    events: [
      event(made.block.timestampMs + SEEN_MS, 'pending', { reason: 'not_solid' }),
      event(enteredMs, 'credited', credited),
    ],
  };
}

const byTime =
  (column: string) =>
  (a: Row, b: Row): number => {
    const [first, second] = [String(a[column]), String(b[column])];
    return first < second ? -1 : first > second ? 1 : 0;
  };

/** Returns every historic row except projects and wallets; entries and events are in time order. */
export function rowsOf(
  { orders, payments }: { readonly orders: readonly PastOrder[]; readonly payments: readonly PastPayment[] },
  chain: PastOnChain,
  places: Places,
): Rows {
  const bought = orders.map((order, index) => new OrderRows(order, chain, places, index));
  const paid = payments.map((payment, index) => paymentRows(payment, chain, places, places.depositIds[index] ?? 0));
  return {
    orders: bought.map(({ order }) => order),
    leg: bought.flatMap(({ legs }) => legs),
    chain_tx: bought.flatMap(({ transactions }) => transactions),
    broadcast: bought.flatMap(({ broadcasts }) => broadcasts),
    credit_entry: [...bought.flatMap(({ entries }) => entries), ...paid.map(({ entry }) => entry)].sort(
      byTime('created_at'),
    ),
    deposit: paid.map(({ deposit }) => deposit).filter((deposit) => deposit !== undefined),
    rental_use: bought.flatMap(({ uses }) => uses),
    event: [...bought.flatMap(({ events }) => events), ...paid.flatMap(({ events }) => events)].sort(byTime('at')),
  };
}

/** Returns recently refused requests of the first project, as shown in its list of refused requests. */
export function refusedRows(project: string, seed: number, endMs: number): readonly Row[] {
  const random = new Seeded(seed + 2);
  const refusals = [
    ['INVALID_SIGNATURE', 401, '/v1/orders', 'The key ends with a space or line break. Remove it.'],
    ['INVALID_SIGNATURE', 401, '/v1/quotes', 'The signature of this request matches no API key of the project.'],
    ['INVALID_REQUEST', 400, '/v1/orders', 'duration_sec: must be from 300 to 2592000 seconds'],
  ] as const;
  const rows = Array.from({ length: 7 }, (): Row => {
    const [error, status, path, reason] = refusals[random.weighted([4, 2, 2])] ?? refusals[0];
    return {
      ...{ project_id: project, key_id: project, method: 'POST', path, status, error, reason, omitted: 0 },
      request_id: `req_${random.uuid().replaceAll('-', '').slice(0, 24)}`,
      source_address: `203.0.113.${(10 + random.weighted([3, 1])).toString()}`,
      at: iso(endMs - random.between(0.02, 5) * 86_400_000),
    };
  });
  return rows.sort(byTime('at'));
}
