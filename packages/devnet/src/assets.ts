// TRC10 tokens: issued at genesis, moved by TransferAssetContract and by contracts. TRON: TransferAssetActuator,
// VMUtils.validateForSmartContract.
import { type Account, accountAt, newAccount, putAccount } from './accounts.js';
import { type Actuator, creationFee } from './actuators.js';
import { isAddress } from './address.js';
import { validateError } from './errors.js';
import { burn } from './fees.js';
import { int, text } from './fields.js';
import { parameter } from './parameters.js';
import type { Reader, State } from './state.js';

/** TRON (VMConstant.MIN_TOKEN_ID): ids of TRC10 tokens are greater than this. */
export const TOKEN_ID_MIN = 1_000_000n;
const LONG_MAX = (1n << 63n) - 1n;

export function hasAsset(state: Reader, id: string): boolean {
  return state.get(`t:${id}`) !== undefined;
}

export function putAsset(state: State, id: string, name: string): void {
  state.put(`t:${id}`, name);
}

export function assetBalance(account: Account | undefined, id: string): bigint {
  return account?.assets?.[id] ?? 0n;
}

/** Returns an account's balances, ordered by id. */
export function assetsOf(account: Account | undefined): (readonly [string, bigint])[] {
  return Object.entries(account?.assets ?? {}).sort(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
}

/** Changes an account's balance; removes the entry at zero. */
export function addAsset(state: State, address: string, id: string, change: bigint): void {
  const account = accountAt(state, address);
  if (account === undefined) throw new Error(`no account ${address}`);
  const { [id]: held = 0n, ...others } = account.assets ?? {};
  const assets = held + change === 0n ? others : { ...others, [id]: held + change };
  putAccount(state, { ...account, assets });
}

/** Checks a token transfer by a contract or with a call. Throws a validate error. */
export function checkTokenTransfer(state: Reader, from: string, to: string, id: string, amount: bigint): void {
  if (amount <= 0n) throw validateError('Amount must greater than 0.');
  if (from === to) throw validateError('Cannot transfer asset to yourself.');
  const owner = accountAt(state, from);
  if (owner === undefined) throw validateError('No owner account!');
  if (!hasAsset(state, id)) throw validateError('No asset !');
  const held = assetBalance(owner, id);
  if (held <= 0n) throw validateError('assetBalance must greater than 0.');
  if (amount > held) throw validateError('assetBalance is not sufficient.');
  if (assetBalance(accountAt(state, to), id) + amount > LONG_MAX) throw validateError('long overflow');
}

/** Moves a token after checkTokenTransfer. Creates the receiver's account if needed. */
export function moveToken(state: State, from: string, to: string, id: string, amount: bigint, headMs: bigint): void {
  if (accountAt(state, to) === undefined) putAccount(state, newAccount(to, 'normal', headMs));
  addAsset(state, from, id, -amount);
  addAsset(state, to, id, amount);
}

/** Returns the token id: `asset_name` holds its digits as text bytes. */
function idOf(message: Parameters<Actuator['check']>[1]): string {
  return Buffer.from(text(message, 'asset_name'), 'hex').toString('utf8');
}

export const transferAsset: Actuator = {
  check(context, message) {
    const { state } = context;
    const from = text(message, 'owner_address');
    const to = text(message, 'to_address');
    const amount = int(message, 'amount');
    const id = idOf(message);
    if (!isAddress(from)) throw validateError('Invalid ownerAddress');
    if (!isAddress(to)) throw validateError('Invalid toAddress');
    if (amount <= 0n) throw validateError('Amount must be greater than 0.');
    if (from === to) throw validateError('Cannot transfer asset to yourself.');
    const payer = accountAt(state, from);
    if (payer === undefined) throw validateError('No owner account!');
    if (!hasAsset(state, id)) throw validateError('No asset!');
    const held = assetBalance(payer, id);
    if (held <= 0n) throw validateError('assetBalance must be greater than 0.');
    if (amount > held) throw validateError('assetBalance is not sufficient.');
    const payee = accountAt(state, to);
    if (payee === undefined) {
      if (payer.balance < creationFee(context))
        throw validateError('Validate TransferAssetActuator error, insufficient fee.');
      return;
    }
    if (payee.isContract && parameter(state, 'getForbidTransferToContract') === 1n)
      throw validateError('Cannot transfer asset to smartContract.');
    if (assetBalance(payee, id) + amount > LONG_MAX) throw validateError('long overflow');
  },
  act(context, message) {
    const { state, headMs } = context;
    const from = text(message, 'owner_address');
    const to = text(message, 'to_address');
    const fee = accountAt(state, to) === undefined ? creationFee(context) : 0n;
    moveToken(state, from, to, idOf(message), int(message, 'amount'), headMs);
    burn(context, from, fee);
    return { fee };
  },
};
