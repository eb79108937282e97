/**
 * Builds, signs and sends many transactions together: build → record bytes and id → sign → record → mark sending →
 * send. Each step is committed before the next, so that after a crash at any point the same code continues.
 */
import { Injectable } from '@nestjs/common';
import { Signer, signerOf } from '../../../platform/chain/keys.js';
import { buildTransaction, type ChainAction } from '../../../platform/chain/signed-transaction.js';
import { Config } from '../../../platform/config/config.js';
import { Log } from '../../../platform/observability/logger.js';
import { resourceOf } from '../../../domain/resource.js';
import { isConnectionFault } from '../../../platform/database/database.js';
import { Broadcaster, answeredIds, isAccepted, SIGNATURE_REFUSED, type Sendable } from './broadcaster.js';
import type { View } from '../follow/chain-view.js';
import { ReceiverEnergy } from '../follow/receiver-energy.js';
import type { BuildStep, TxStep } from '../plan/plan.js';
import type { ReceiverReading } from '../plan/reclaim-readings.js';
import { FulfilmentEvents, type TxNews } from '../fulfilment-events.js';
import { TransactionLog, type BroadcastRecord, type BuiltRecord } from './transaction-log.js';
import { WalletHealth } from './wallet-health.js';
import type { ClaimedLeg, ClaimedOrder } from '../loop/claimed-order.js';

export interface OrderBuild extends BuildStep {
  readonly order: ClaimedOrder;
  /** Set for a reclaim if other rentals of its receiver continue. */
  readonly reading?: ReceiverReading | undefined;
}

export interface OrderTx extends TxStep {
  readonly order: ClaimedOrder;
}

interface Unsigned extends TxNews {
  readonly id: bigint;
  readonly order: ClaimedOrder;
  readonly leg: ClaimedLeg;
  readonly rawData: Buffer;
}

type Signed = Sendable & TxNews & { readonly order: ClaimedOrder; readonly leg: ClaimedLeg };

/** The outcome of a batch: orders whose wallets were paused by failed signatures, and orders that were released. */
export interface SendOutcome {
  readonly stuck: readonly ClaimedOrder[];
  readonly released: readonly ClaimedOrder[];
}

const NOTHING: SendOutcome = { stuck: [], released: [] };

interface Built {
  readonly step: OrderBuild;
  readonly record: BuiltRecord;
}

/** Spreads equal actions in one block over a minute of timestamps. Legs with equal salt are 60,000 legs apart. */
const SALT_RANGE = 60_000n;

@Injectable()
export class TransactionSender {
  constructor(
    private readonly transactionLog: TransactionLog,
    private readonly broadcaster: Broadcaster,
    private readonly signer: Signer,
    private readonly walletHealth: WalletHealth,
    private readonly receiverEnergy: ReceiverEnergy,
    private readonly fulfilmentEvents: FulfilmentEvents,
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Builds and sends new transactions, and releases their orders: this is the last step of a pass. */
  async buildAndSend(builds: readonly OrderBuild[], view: View): Promise<SendOutcome> {
    if (builds.length === 0) return NOTHING;
    this.receiverEnergy.startReadsBefore(new Set(builds.map(({ order }) => order)));
    const built = builds.flatMap((step) => this.tryToBuild(step, view) ?? []);
    if (built.length === 0) return NOTHING;
    const ids = await this.transactionLog.recordBuilt(built.map(({ record }) => record));
    const unsigned = built.flatMap(({ step, record }) => {
      const id = ids.get(`${step.leg.id.toString()}/${step.purpose}`);
      return id === undefined ? [] : [{ ...step, id, rawData: record.rawData, txid: record.txid }];
    });
    return this.signAndSend(unsigned, [], this.config.worker.resendSec * 1000);
  }

  /** Continues with transactions that were recorded but never sent. Returns the orders whose wallets were paused. */
  async sendRecorded(steps: readonly OrderTx[]): Promise<readonly ClaimedOrder[]> {
    const signed = steps.filter((step) => step.tx.status === 'signed');
    const built = steps.filter((step) => step.tx.status === 'built');
    const { stuck } = await this.signAndSend(
      built.map(({ order, leg, tx }) => ({ ...tx, order, leg })),
      signed.flatMap(({ order, leg, tx }) =>
        tx.signature === undefined ? [] : [{ ...tx, order, leg, signature: tx.signature }],
      ),
    );
    return stuck;
  }

  /** Sends the same bytes to every node again: they can be included only once. */
  async resend(steps: readonly OrderTx[]): Promise<void> {
    const items = steps.flatMap(({ leg, tx }) =>
      tx.signature === undefined ? [] : [{ id: tx.id, leg, rawData: tx.rawData, signature: tx.signature }],
    );
    if (items.length === 0) return;
    const records = await this.broadcaster.send(items, true);
    this.fulfilmentEvents.countAnswers(records);
    await this.transactionLog.recordBroadcasts(records, { resent: [...answeredIds(items, records)] });
    await this.noteRefusals(items, records);
  }

  /** Drops transactions that were never sent; no other party has seen them. */
  async drop(steps: readonly OrderTx[]): Promise<void> {
    await this.transactionLog.recordDropped(
      steps.map(({ order, tx }) => ({ id: tx.id, orderId: order.id, fence: order.fence })),
    );
  }

  /**
   * Returns undefined if the build fails, so that one leg does not block the others. A lasting failure ends its leg.
   */
  private tryToBuild(step: OrderBuild, view: View): Built | undefined {
    try {
      return { step, record: this.build(step, view) };
    } catch (error) {
      this.log.error(
        { err: error, orderId: step.order.id.toString(), purpose: step.purpose },
        'failed to build a transaction',
      );
      return undefined;
    }
  }

  private build(step: OrderBuild, view: View): BuiltRecord {
    const { order, leg, purpose, attempt } = step;
    const expiresAtMs = view.head.timestampMs + this.config.chain.expirationSec * 1000;
    const { rawData, txid } = buildTransaction(actionOf(order, leg, purpose), {
      permissionId: leg.permissionId,
      reference: view.reference,
      expiresAtMs,
      timestampMs: view.head.timestampMs + Number(leg.id % SALT_RANGE),
    });
    return {
      orderId: order.id,
      fence: order.fence,
      legId: leg.id,
      walletId: leg.walletId,
      purpose,
      attempt,
      txid,
      rawData,
      refBlockNumber: view.reference.number,
      expiresAtMs,
      reading: step.reading,
    };
  }

  private async signAndSend(
    unsigned: readonly Unsigned[],
    signedBefore: readonly Signed[],
    releaseMs?: number,
  ): Promise<SendOutcome> {
    const { fresh, stuck } = await this.signAll(unsigned);
    let sendable = [...signedBefore];
    if (fresh.length > 0) {
      const recorded = await this.transactionLog.recordSigned(
        fresh.map((item) => ({ ...item, orderId: item.order.id, fence: item.order.fence })),
      );
      this.fulfilmentEvents.reportFenceLost('sign', fresh.length - recorded.size);
      sendable = [...sendable, ...fresh.filter((item) => recorded.has(item.id))];
    }
    if (sendable.length === 0) return { ...NOTHING, stuck };
    const { marked, failed } = await this.transactionLog.recordSending(
      sendable.map(({ id, order }) => ({
        id,
        orderId: order.id,
        fence: order.fence,
        release: releaseMs === undefined ? undefined : { dueAt: order.dueAt, delayMs: releaseMs },
      })),
    );
    for (const { order, error } of failed) this.fulfilmentEvents.reportNotAdvanced('sending', order, error);
    const sending = sendable.filter((item) => marked.has(item.id));
    this.fulfilmentEvents.reportFenceLost('send', sendable.length - sending.length);
    this.fulfilmentEvents.reportTransactions('sending', sending);
    const placed = new Set(sending.flatMap(({ order }) => (order.status === 'reserved' ? order : [])));
    this.fulfilmentEvents.reportOrders(
      'placed',
      [...placed].map((order) => ({ order, kind: order.kind })),
    );
    this.receiverEnergy.recordReadsBefore(placed);
    const records = await this.broadcaster.send(sending, false);
    this.fulfilmentEvents.countAnswers(records);
    const heard = answeredIds(sending, records);
    const unheard = sending.flatMap(({ id }) => (heard.has(id) ? [] : id));
    if (unheard.length > 0) this.log.warn({ count: unheard.length }, 'transactions reached no node');
    await this.transactionLog.recordBroadcasts(records, { unheard });
    await this.noteRefusals(sending, records);
    return { stuck, released: releaseMs === undefined ? [] : sending.map(({ order }) => order) };
  }

  /** Signs all that can be signed. `stuck` are the orders whose wallets can no longer deliver. */
  private async signAll(
    unsigned: readonly Unsigned[],
  ): Promise<{ readonly fresh: readonly Signed[]; readonly stuck: readonly ClaimedOrder[] }> {
    const results = await Promise.all(unsigned.map(async (item) => this.sign(item)));
    // A recorded transaction has the member `signature` even while it has none.
    const fresh = results.flatMap((result) => ('error' in result ? [] : result));
    const failed = results.flatMap((result) => ('error' in result ? result : []));
    await this.walletHealth.recordSigned(fresh.flatMap(({ leg }) => (leg.signFailures > 0 ? leg.walletId : [])));
    const paused = await this.walletHealth.recordSignFailures(
      failed.map(({ leg, error }) => ({ walletId: leg.walletId, error })),
    );
    return {
      fresh,
      stuck: failed.flatMap(({ order, leg, purpose }) =>
        purpose !== 'reclaim' && paused.has(leg.walletId) ? order : [],
      ),
    };
  }

  /** Returns a signature, verified against the key that the chain expects, or the error that prevented it. */
  private async sign(item: Unsigned): Promise<Signed | (Unsigned & { readonly error: unknown })> {
    try {
      const signature = await this.signer.sign(item.leg.walletAddress, item.rawData, item.leg.keyAddress);
      if (signerOf(item.rawData, signature) !== item.leg.keyAddress) throw new Error('signed by another key');
      return { ...item, signature };
    } catch (error) {
      // Without the database no key can be read; no wallet is at fault.
      if (isConnectionFault(error)) throw error;
      this.fulfilmentEvents.reportSignFailure(item.order, item.leg.walletAddress, error);
      return { ...item, error };
    }
  }

  /** Pauses wallets whose signature a node refused and no node accepted. The transaction is unchanged. */
  private async noteRefusals(
    items: readonly { readonly id: bigint; readonly leg: ClaimedLeg }[],
    records: readonly BroadcastRecord[],
  ): Promise<void> {
    const accepted = new Set(records.flatMap(({ txId, answer }) => (isAccepted(answer) ? txId : [])));
    const refused = new Map(
      records.flatMap(({ txId, answer, message }) =>
        answer === SIGNATURE_REFUSED && !accepted.has(txId) ? [[txId, message ?? answer] as const] : [],
      ),
    );
    const byWallet = new Map(
      items.flatMap(({ id, leg }) => {
        const message = refused.get(id);
        return message === undefined ? [] : [[leg.walletId, message] as const];
      }),
    );
    for (const [walletId, message] of byWallet) await this.walletHealth.recordRefusal(walletId, message);
  }
}

function actionOf(order: ClaimedOrder, leg: ClaimedLeg, purpose: BuildStep['purpose']): ChainAction {
  const parties = { owner: leg.walletAddress, receiver: order.receiver };
  const resource = resourceOf(leg.kind);
  switch (purpose) {
    case 'delegate':
      return { type: 'delegate', ...parties, amountSun: leg.amountSun, resource };
    case 'reclaim':
      return { type: 'undelegate', ...parties, amountSun: leg.amountSun, resource };
    case 'activate':
      return { type: 'activate', ...parties };
  }
}
