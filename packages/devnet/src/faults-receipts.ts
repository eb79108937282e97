// Falsifies parsed receipts, single ones and a block's list: removes or adds parts.
import type { Json } from './json.js';

export type Fields = Record<string, Json>;

export const object = (value: Json | undefined): Fields | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : undefined;
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
export const objects = (value: Json | undefined): Fields[] | undefined =>
  isList(value) ? value.flatMap<Fields>((item) => object(item) ?? []) : undefined;

/** Returns the id of a receipt or a transaction. */
export function idOf(fields: Fields): Json | undefined {
  return fields['id'] ?? fields['txID'];
}

/** Returns the list without the entry of this id, or without its last entry; undefined if nothing was removed. */
export function without(list: readonly Fields[], txId: string | undefined): Fields[] | undefined {
  const left = txId === undefined ? list.slice(0, -1) : list.filter((each) => idOf(each) !== txId);
  return left.length === list.length ? undefined : left;
}

/** Returns a block's answer without one of its transactions. */
export function shortBlock(block: Fields, txId: string | undefined): Fields | undefined {
  const { transactions, ...rest } = block;
  const left = without(objects(transactions) ?? [], txId);
  if (left === undefined) return undefined;
  return left.length === 0 ? rest : { ...rest, transactions: left };
}

/**
 * Returns the answer of a node that does not know one transaction: for a block, a receipt, a list of receipts or the
 * transaction itself.
 */
export function hidden(answer: Fields | readonly Fields[], txId: string | undefined): Json | undefined {
  if (Array.isArray(answer)) return without(answer as readonly Fields[], txId);
  const fields = answer as Fields;
  if (fields['block_header'] !== undefined) return shortBlock(fields, txId);
  return txId !== undefined && idOf(fields) === txId ? {} : undefined;
}

export function withoutInternal(receipt: Fields): Fields | undefined {
  const { internal_transactions: internal, ...rest } = receipt;
  return internal === undefined ? undefined : rest;
}

/** Adds a log that the transaction did not emit. */
export function withLog(receipt: Fields, log: Fields): Fields | undefined {
  if (receipt['receipt'] === undefined) return undefined;
  return { ...receipt, log: [...(objects(receipt['log']) ?? []), log] };
}

/** Replaces members of every log. */
export function withOtherLogs(receipt: Fields, members: Fields): Fields | undefined {
  const logs = objects(receipt['log']);
  return logs === undefined ? undefined : { ...receipt, log: logs.map((log) => ({ ...log, ...members })) };
}
