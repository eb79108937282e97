// Refusals of and false answers to broadcasts. Never changes the chain.
import type { Request, Response } from './http.js';
import { member, printJson, textOf } from './json.js';
import { type Tx, printTx, txOfHex, txOfJson } from './transactions.js';

/** Refusal codes with the node's own messages. TRON: GrpcAPI.Return.response_code, Wallet.broadcastTransaction. */
export const REFUSALS = {
  SIGERROR: 'Validate signature error: permission error',
  CONTRACT_VALIDATE_ERROR: 'Contract validate error : delegateBalance must be less than or equal to available balance',
  CONTRACT_EXE_ERROR: 'Contract execute error : account does not exist',
  BANDWITH_ERROR: 'Account resource insufficient error.',
  DUP_TRANSACTION_ERROR: 'Dup transaction.',
  TAPOS_ERROR: 'Tapos check error.',
  TOO_BIG_TRANSACTION_ERROR: 'Transaction size is too big.',
  TRANSACTION_EXPIRATION_ERROR: 'Transaction expired',
  SERVER_BUSY: 'Server busy.',
  NO_CONNECTION: 'No connection.',
  NOT_ENOUGH_EFFECTIVE_CONNECTION: 'No enough effective connection.',
  BLOCK_UNSOLIDIFIED: 'Block unsolidified.',
  OTHER_ERROR: 'Error: null',
} as const;
export type Refusal = keyof typeof REFUSALS;
export const REFUSAL_CODES = Object.keys(REFUSALS) as Refusal[];

const BROADCASTS = new Set(['wallet/broadcasttransaction', 'wallet/broadcasthex']);

/** Returns the transaction of a broadcast; undefined for other requests and for an unreadable one. */
export function broadcastOf(request: Request): Tx | undefined {
  if (!BROADCASTS.has(request.path)) return undefined;
  try {
    const hex = textOf(member(request.body, 'transaction'));
    if (request.path === 'wallet/broadcasthex') return hex === undefined ? undefined : txOfHex(hex);
    return txOfJson(request.body, request.source, request.visible);
  } catch {
    return undefined;
  }
}

/** Returns the answer of a node that accepted the transaction. */
export function acceptance(request: Request, tx: Tx): Response {
  if (request.path !== 'wallet/broadcasthex') return { status: 200, body: printJson({ result: true, txid: tx.id }) };
  return withTransaction(request, tx, { result: true, code: 'SUCCESS', txid: tx.id, message: '' });
}

/** Returns the answer of a node that refused it. */
export function refusal(request: Request, tx: Tx, code: Refusal): Response {
  const isHex = request.path === 'wallet/broadcasthex';
  const text = REFUSALS[code];
  const message = isHex || request.visible ? text : Buffer.from(text, 'utf8').toString('hex');
  if (!isHex) return { status: 200, body: printJson({ code, txid: tx.id, message }) };
  return withTransaction(request, tx, { result: false, code, txid: tx.id, message });
}

/** broadcasthex prints its transaction next to the answer. */
function withTransaction(request: Request, tx: Tx, answer: Record<string, string | boolean>): Response {
  const { visible: _visible, ...printed } = printTx(tx, request.visible);
  const transaction = printJson({ visible: request.visible, ...printed });
  return { status: 200, body: printJson({ ...answer, transaction }) };
}
