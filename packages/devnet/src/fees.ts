// Payment for a transaction's bytes, signatures and memo: staked bandwidth, free bandwidth, or burned TRX.
import { type Account, accountAt, putAccount } from './accounts.js';
import { base58OfHex } from './address.js';
import { BroadcastError, NodeError } from './errors.js';
import { addTotals, parameter } from './parameters.js';
import { increaseFree, limitOf, recovered, spend } from './resources.js';
import type { State } from './state.js';

/** Execution context: the state, and the head block before the execution. */
export interface Context {
  readonly state: State;
  readonly headMs: bigint;
  /** headMs / 3000 */
  readonly slot: bigint;
  /** True while a node builds an unsigned transaction, false during execution. */
  readonly isBuilding?: boolean;
}

/** Charges of a transaction, as on its receipt. */
export interface Bill {
  netUsage: bigint;
  netFee: bigint;
  multiSignFee: bigint;
  memoFee: bigint;
}

/** Bytes that every transaction pays for its result. */
const RESULT_BYTES = 64n;
const SIGNATURE_BYTES = 65n;
const EXE_CLASS = 'org.tron.core.exception.ContractExeException';

export function exeError(message: string): NodeError {
  return new NodeError(EXE_CLASS, message);
}

/** Burns `sun` of an account's balance. Throws ContractExeException if the balance is lower. */
export function burn(context: Context, address: string, sun: bigint): void {
  const account = accountAt(context.state, address);
  if (account === undefined || account.balance < sun)
    throw exeError(
      `${address} insufficient balance, balance: ${String(account?.balance ?? 0n)}, amount: ${String(sun)}`,
    );
  if (sun === 0n) return;
  putAccount(context.state, { ...account, balance: account.balance - sun });
  addTotals(context.state, { burned: sun });
}

function insufficient(): BroadcastError {
  return new BroadcastError('BANDWITH_ERROR', 'Account resource insufficient error.');
}

function pay(context: Context, account: Account, sun: bigint): void {
  if (account.balance < sun) throw insufficient();
  putAccount(context.state, { ...account, balance: account.balance - sun, operationMs: context.headMs });
  addTotals(context.state, { burned: sun });
}

function useStaked(context: Context, account: Account, bytes: bigint): boolean {
  const usage = account.usage.BANDWIDTH;
  if (bytes > limitOf(context.state, account, 'BANDWIDTH') - recovered(usage, context.slot)) return false;
  putAccount(context.state, {
    ...account,
    operationMs: context.headMs,
    usage: { ...account.usage, BANDWIDTH: spend(usage, bytes, context.slot) },
  });
  return true;
}

function useFree(context: Context, account: Account, bytes: bigint): boolean {
  const used = increaseFree(account.freeNetUsed, 0n, account.freeNetSlot, context.slot);
  if (bytes > parameter(context.state, 'getFreeNetLimit') - used) return false;
  putAccount(context.state, {
    ...account,
    operationMs: context.headMs,
    freeNetUsed: increaseFree(used, bytes, context.slot, context.slot),
    freeNetSlot: context.slot,
  });
  return true;
}

/** The inputs of a transaction's bandwidth. */
interface Charged {
  /** The transaction as serialised with its signatures, plus 64. */
  readonly bytes: bigint;
  readonly signatures: number;
  readonly createsAccount: boolean;
}

/** TRON (BandwidthProcessor.consume): the limit counts 65 bytes less for each signature. */
function checkCreationSize(context: Context, { bytes, signatures }: Charged): void {
  const size = bytes - RESULT_BYTES - BigInt(signatures) * SIGNATURE_BYTES;
  if (size > parameter(context.state, 'getMaxCreateAccountTxSize'))
    throw new BroadcastError('TOO_BIG_TRANSACTION_ERROR', 'Transaction size is too big.');
}

/**
 * Charges a transaction's bytes to its owner. TRON (BandwidthProcessor): staked bandwidth first, then free bandwidth,
 * then TRX for all bytes. Account creation never uses free bandwidth. Throws BroadcastError BANDWITH_ERROR, or the
 * validate error for an owner that does not exist.
 */
export function chargeBandwidth(context: Context, owner: string, charged: Charged): Bill {
  const { bytes } = charged;
  const bill: Bill = { netUsage: 0n, netFee: 0n, multiSignFee: 0n, memoFee: 0n };
  const account = accountAt(context.state, owner);
  if (account === undefined)
    throw new NodeError(
      'org.tron.core.exception.ContractValidateException',
      `account [${base58OfHex(owner)}] does not exist`,
    );
  if (charged.createsAccount) {
    checkCreationSize(context, charged);
    const cost = bytes * parameter(context.state, 'getCreateNewAccountBandwidthRate');
    if (useStaked(context, account, cost)) bill.netUsage = cost;
    else {
      bill.netFee = parameter(context.state, 'getCreateAccountFee');
      pay(context, account, bill.netFee);
    }
    return bill;
  }
  if (useStaked(context, account, bytes) || useFree(context, account, bytes)) bill.netUsage = bytes;
  else {
    bill.netFee = bytes * parameter(context.state, 'getTransactionFee');
    pay(context, account, bill.netFee);
  }
  return bill;
}

/** Charges the fees for additional signatures and for a memo. Throws BroadcastError BANDWITH_ERROR. */
export function chargeExtras(
  context: Context,
  owner: string,
  bill: Bill,
  extras: { readonly signatures: number; readonly hasMemo: boolean },
): void {
  if (extras.signatures > 1) bill.multiSignFee = parameter(context.state, 'getMultiSignFee');
  if (extras.hasMemo) bill.memoFee = parameter(context.state, 'getMemoFee');
  const fee = bill.multiSignFee + bill.memoFee;
  const account = accountAt(context.state, owner);
  if (fee === 0n || account === undefined) return;
  if (account.balance < fee) throw insufficient();
  putAccount(context.state, { ...account, balance: account.balance - fee });
  addTotals(context.state, { burned: fee });
}
