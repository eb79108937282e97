/**
 * The demo's history on the local chain. Every delegation, reclaim, activation and payment is a signed transaction in a
 * block of its time, so the database records agree with the chain.
 */
import { addressBytes } from '../../../src/domain/base58-address.js';
import type { BlockHead } from '../../../src/platform/chain/block.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import {
  buildTransaction,
  signedTransactionHex,
  type ChainAction,
} from '../../../src/platform/chain/signed-transaction.js';
import { sun } from '../../../src/domain/units.js';
import { namedChainAccount, transferParameter, type ChainAccount } from './chain-account.js';
import { PROFILES } from './demo-plan.js';
import { slotAfter, VALID_MS, type PastOrder, type PastPayment, type Timeline } from './demo-timeline.js';
import { signedPayment } from './payment-bytes.js';
import { localDepositXpub, PERMISSION_ID, type LocalService } from './local-service.js';

const BLOCK_MS = 3000;
const MINE_LIMIT_MS = 60_000;
/** Empty blocks after the last transaction, so that all earlier blocks are solid. */
const LAST_BLOCKS = 25;
/** Delay of the payments into the treasuries: the chain keeps producing blocks while the history is signed. */
const FUNDED_MS = 600_000;
const TREASURY_TRX = 200_000;
const TREASURY_USDT = 100_000_000_000n;
/** Enough to create the account on chain. */
const RECEIVER_TRX = 2;

const treasuries: readonly ChainAccount[] = PROFILES.map((_, index) =>
  namedChainAccount(`demo-treasury-${index.toString()}`),
);

/** Accounts that must exist on chain from the first block: energy receivers and payers. */
export const PAST_ACCOUNTS: readonly { readonly address: string; readonly trx: number }[] = [
  ...PROFILES.filter(({ isTest }) => !isTest).flatMap(({ receivers }) =>
    receivers.map((address) => ({ address, trx: RECEIVER_TRX })),
  ),
  ...treasuries.map(({ address }) => ({ address, trx: TREASURY_TRX })),
];

/**
 * Settings that enable deposits on the demo's chain. The chain has one node, so the daily limit for deposits confirmed
 * by one node applies. Payments of the history count against today's limit too.
 */
export const demoDeposits = (): Readonly<Record<'DEPOSIT_XPUB' | 'DEPOSIT_AUTO_MAX_USD', string>> => ({
  DEPOSIT_XPUB: localDepositXpub(),
  DEPOSIT_AUTO_MAX_USD: '1000000',
});

export interface PastTransaction {
  readonly txid: string;
  readonly rawData: Buffer;
  readonly signature: Buffer;
  readonly madeMs: number;
  readonly expiresAtMs: number;
}

interface Place {
  readonly block: BlockHead;
  readonly feeSun: bigint;
}

/** A transaction with its place in a block. */
export type PastInclusion = PastTransaction & Place;

export interface PastOnChain {
  /** Reference block of all transactions: one before the first. */
  readonly reference: BlockHead;
  readonly deliveries: ReadonlyMap<PastOrder, PastInclusion>;
  readonly reclaims: ReadonlyMap<PastOrder, PastInclusion>;
  /** Signed transactions that never reached a block, each with the block at which it had expired. */
  readonly lost: ReadonlyMap<PastOrder, PastTransaction & { readonly deadAt: BlockHead }>;
  readonly payments: ReadonlyMap<PastPayment, PastInclusion & { readonly from: string }>;
  /** A solid block that is after everything else. */
  readonly solid: BlockHead;
}

interface Act {
  readonly slotMs: number;
  readonly transaction: PastTransaction;
}

interface MadeBlock {
  readonly number: number;
  readonly blockID: string;
  readonly timestamp: number;
  readonly fees: readonly number[];
}

/**
 * Mines the blocks up to `endMs`. `depositAddresses` is indexed by project. Throws if the chain refuses a transaction.
 */
export async function putOnChain(
  service: LocalService,
  { orders, payments }: Timeline,
  endMs: number,
  depositAddresses: readonly (string | undefined)[],
): Promise<PastOnChain> {
  const past = new Past(service, await headOf(service));
  const signed = {
    deliveries: new Map(orders.map((order) => [order, past.delivery(order)])),
    reclaims: new Map(orders.filter(({ reclaimedMs }) => reclaimedMs !== undefined).map((o) => [o, past.reclaim(o)])),
    payments: new Map(payments.map((payment) => [payment, past.payment(payment, depositAddresses[payment.project])])),
  };
  const blocks = await mine(service, [...past.fundings(), ...past.acts], endMs);
  const included = new Map<string, Place>();
  for (const { block, acts, fees } of blocks) {
    for (const [index, { transaction }] of acts.entries())
      included.set(transaction.txid, { block, feeSun: BigInt(fees[index] ?? 0) });
  }
  const solid = blocks.at(-LAST_BLOCKS + 1);
  if (solid === undefined) throw new Error('the chain made no blocks');
  return {
    reference: past.reference,
    deliveries: placed(signed.deliveries, included),
    reclaims: placed(signed.reclaims, included),
    payments: placed(signed.payments, included),
    lost: lostOf(signed.deliveries, blocks),
    solid: solid.block,
  };
}

function placed<Of, T extends PastTransaction>(
  of: ReadonlyMap<Of, T | undefined>,
  included: ReadonlyMap<string, Place>,
): Map<Of, T & Place> {
  const found = new Map<Of, T & Place>();
  for (const [each, transaction] of of) {
    if (transaction === undefined) continue;
    const place = included.get(transaction.txid);
    if (place !== undefined) found.set(each, { ...transaction, ...place });
  }
  return found;
}

/** Returns the unsent transactions of refunded orders, each with the first block too late to include it. */
function lostOf(
  deliveries: ReadonlyMap<PastOrder, PastTransaction | undefined>,
  blocks: readonly { readonly block: BlockHead }[],
): PastOnChain['lost'] {
  const found = new Map<PastOrder, PastTransaction & { readonly deadAt: BlockHead }>();
  for (const [order, transaction] of deliveries) {
    if (transaction === undefined || order.refundedMs === undefined) continue;
    const dead = blocks.find(({ block }) => block.timestampMs >= transaction.expiresAtMs);
    if (dead !== undefined) found.set(order, { ...transaction, deadAt: dead.block });
  }
  return found;
}

class Past {
  readonly acts: Act[] = [];

  constructor(
    private readonly service: LocalService,
    readonly reference: BlockHead,
  ) {}

  /** Builds the delegation or activation of an order; undefined for a test project's order. */
  delivery(order: PastOrder): PastTransaction | undefined {
    const { wallet, receiver, amountSun, createdMs, deliveredMs, energy } = order;
    if (PROFILES[order.project]?.isTest === true) return undefined;
    const { activationWallet } = this.service;
    const owner = energy === undefined ? activationWallet : this.walletAt(wallet);
    const action: ChainAction =
      energy === undefined
        ? { type: 'activate', owner: owner.address, receiver }
        : { type: 'delegate', owner: owner.address, receiver, amountSun: sun(amountSun), resource: 'ENERGY' };
    const transaction = this.signed(action, owner.hotKey, createdMs + 190);
    if (deliveredMs !== undefined) this.acts.push({ slotMs: deliveredMs, transaction });
    return transaction;
  }

  reclaim(order: PastOrder): PastTransaction | undefined {
    const { wallet, receiver, amountSun, reclaimedMs } = order;
    if (wallet === undefined || reclaimedMs === undefined) return undefined;
    const owner = this.walletAt(wallet);
    const action: ChainAction = {
      type: 'undelegate',
      owner: owner.address,
      receiver,
      amountSun: sun(amountSun),
      resource: 'ENERGY',
    };
    const transaction = this.signed(action, owner.hotKey, reclaimedMs - 2100);
    this.acts.push({ slotMs: reclaimedMs, transaction });
    return transaction;
  }

  payment({ onChain, project }: PastPayment, to: string | undefined): (PastTransaction & { from: string }) | undefined {
    const treasury = treasuries[project];
    if (onChain === undefined || treasury === undefined) return undefined;
    if (to === undefined) throw new Error('a project without a deposit address is paid for');
    const token = PROFILES[project]?.paysIn === 'USDT' ? this.service.token : undefined;
    const transaction = this.paid(treasury, to, onChain.amount, { token, atMs: onChain.paidMs });
    return { ...transaction, from: treasury.address };
  }

  /**
   * Returns the payments that fund the treasuries. One account holds the token's whole supply and must distribute some
   * first.
   */
  fundings(): readonly Act[] {
    const before = this.acts.splice(0);
    const [alice] = this.service.accounts;
    if (alice === undefined) throw new Error('the service has test accounts');
    const atMs = slotAfter(this.reference.timestampMs + FUNDED_MS);
    for (const { address } of treasuries) this.paid(alice, address, TREASURY_USDT, { token: this.service.token, atMs });
    const made = this.acts.splice(0);
    this.acts.push(...before);
    return made;
  }

  private paid(
    from: ChainAccount,
    to: string,
    amount: bigint,
    { token, atMs }: { readonly token: string | undefined; readonly atMs: number },
  ): PastTransaction {
    const madeMs = atMs - 2000;
    const terms = { reference: this.reference, timestampMs: madeMs, expiresAtMs: madeMs + VALID_MS };
    const payment =
      token === undefined
        ? { from: bytesOf(from.address), to: bytesOf(to), amount }
        : { from: bytesOf(from.address), contract: bytesOf(token), data: TRANSFER + transferParameter(to, amount) };
    const made = signedPayment(payment, terms, from.privateKey);
    const transaction = { ...made, madeMs, expiresAtMs: terms.expiresAtMs };
    this.acts.push({ slotMs: atMs, transaction });
    return transaction;
  }

  private signed(action: ChainAction, key: ChainAccount, madeMs: number): PastTransaction {
    const expiresAtMs = madeMs + VALID_MS;
    const terms = { permissionId: PERMISSION_ID, reference: this.reference, expiresAtMs, timestampMs: madeMs };
    const { rawData, txid } = buildTransaction(action, terms);
    return { txid, rawData, signature: signWithKey(rawData, key.privateKey), madeMs, expiresAtMs };
  }

  private walletAt(place: number | undefined) {
    const wallet = this.service.poolWallets[place ?? 0];
    if (wallet === undefined) throw new Error('the service has its pool wallets');
    return wallet;
  }
}

/** Selector of transfer(address,uint256). */
const TRANSFER = 'a9059cbb';

function bytesOf(address: string): Buffer {
  const bytes = addressBytes(address);
  if (bytes === undefined) throw new Error(`${address} is no address`);
  return bytes;
}

async function headOf(service: LocalService): Promise<BlockHead> {
  const block = (await service.wallet.post('wallet/getnowblock', {})) as {
    readonly blockID: string;
    readonly block_header: { readonly raw_data: { readonly number: number; readonly timestamp: number } };
  };
  const { number, timestamp } = block.block_header.raw_data;
  return { number, id: block.blockID, timestampMs: timestamp };
}

/** Mines, in one request, a block for each time at which something happened, then empty blocks up to `endMs`. */
async function mine(service: LocalService, acts: readonly Act[], endMs: number) {
  const bySlot = new Map<number, Act[]>();
  for (const act of acts) bySlot.set(act.slotMs, [...(bySlot.get(act.slotMs) ?? []), act]);
  const slots = [...bySlot].sort(([a], [b]) => a - b);
  const lastMs = slotAfter(endMs);
  for (let left = LAST_BLOCKS - 1; left >= 0; left -= 1) slots.push([lastMs - left * BLOCK_MS, []]);
  const answer = await fetch(`${service.controlUrl}/mine`, {
    method: 'POST',
    body: JSON.stringify({
      blocks: slots.map(([timestamp, each]) => ({
        timestamp,
        transactions: each.map(({ transaction: { rawData, signature } }) => signedTransactionHex(rawData, signature)),
      })),
    }),
    signal: AbortSignal.timeout(MINE_LIMIT_MS),
  });
  const { blocks, Error: refusal } = (await answer.json()) as { blocks?: readonly MadeBlock[]; Error?: string };
  if (blocks === undefined) throw new Error(`the local chain refused the past: ${refusal ?? 'no answer'}`);
  return blocks.map(({ number, blockID, timestamp, fees }, index) => {
    const [slotMs, each] = slots[index] ?? [0, []];
    if (timestamp !== slotMs) throw new Error(`block ${number.toString()} was made at another time than planned`);
    return { block: { number, id: blockID, timestampMs: timestamp }, acts: each, fees };
  });
}
