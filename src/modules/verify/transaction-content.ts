/**
 * Checks that recorded transaction bytes match their leg: owner, receiver, amount, resource, type. Our builder uses one
 * layout, so nearly all are judged by comparing bytes (3 µs each); others are decoded (100 µs).
 */
import { addressBytes } from '../../domain/base58-address.js';
import { parseTransaction, sameAction, type ChainAction } from '../../platform/chain/signed-transaction.js';
import type { Sun } from '../../domain/units.js';
import type { ChainTxPurpose, LegKind } from '../../domain/order-state.js';
import { resourceOf } from '../../domain/resource.js';
import type { Queryable } from '../../platform/database/database.js';
import { CHECK_LIMIT_MS, rowsOf, type OrderScope } from './record-check.js';
import { findingOf, type CheckResult, type Finding } from './finding.js';

interface ContentRow {
  readonly id: bigint;
  readonly order_id: bigint;
  readonly txid: Buffer;
  readonly raw_data: Buffer;
  readonly purpose: ChainTxPurpose;
  readonly wallet_id: number;
  readonly address: string;
  readonly receive_address: string;
  readonly amount_sun: bigint;
  readonly kind: LegKind;
  readonly expires_at: Date;
}

/** Excludes dropped transactions, which were never sent. Dead ones had no effect but must keep their content. */
const CONTENTS = `SELECT t.id, t.order_id, t.txid, t.raw_data, t.purpose, t.wallet_id, w.address, l.receive_address, l.amount_sun, l.kind, t.expires_at
  FROM the_transactions t JOIN the_legs l ON l.id = t.leg_id JOIN pool_wallet w ON w.id = t.wallet_id
  WHERE t.status <> 'dropped'`;

const NEXT_PAGE = ' AND t.id > $1 ORDER BY t.id LIMIT 1000';

const CHECK = 'transaction-content';
const RULE = 'I3';

/** Judges the bytes of all transactions, or of those of some orders. `onProgress` receives the number judged so far. */
export async function checkContents(
  tx: Queryable,
  findingsMax: number,
  scope: OrderScope = { kind: 'all' },
  onProgress?: (judged: number) => void,
): Promise<CheckResult> {
  const findings: Finding[] = [];
  const judge = new ContentJudge();
  let count = 0;
  let judged = 0;
  for await (const rows of pagesOf(tx, scope)) {
    for (const row of rows) {
      const says = judge.actionOf(row);
      if (judge.isOf(row.raw_data, says, row.expires_at)) continue;
      count += 1;
      if (findings.length >= findingsMax) continue;
      const subject = `transaction ${row.txid.toString('hex')}`;
      const { purpose, amount_sun, expires_at } = row;
      const facts = { purpose, receiver: row.receive_address, amount_sun, expires_at };
      findings.push(
        findingOf({ check: CHECK, rule: RULE, subject, facts, walletId: row.wallet_id, orderId: row.order_id }),
      );
    }
    judged += rows.length;
    onProgress?.(judged);
  }
  const says =
    'The bytes of a transaction match its leg (owner, receiver, sun, resource, unlocked) and its expiration.';
  return { check: CHECK, rule: RULE, says, stops: 'everything', count, findings };
}

/** Pages by id over all transactions; a scope of some orders is bounded and read in one statement. */
async function* pagesOf(tx: Queryable, scope: OrderScope): AsyncGenerator<readonly ContentRow[]> {
  const all = scope.kind === 'all';
  const { prefix, params } = rowsOf(scope, all ? 1 : 0);
  const statement = {
    text: [prefix, CONTENTS, ...(all ? [NEXT_PAGE] : [])].join(''),
    query_timeout: CHECK_LIMIT_MS,
  };
  if (!all) {
    yield await tx.query<ContentRow>(statement, params);
    return;
  }
  for (let last = 0n; ;) {
    const rows = await tx.query<ContentRow>(statement, [last]);
    const end = rows.at(-1);
    if (end === undefined) return;
    yield rows;
    last = end.id;
  }
}

/** The contract's number, then the start of its parameter: the type's URL with tag and length. Hex. */
const BEGINNINGS = {
  delegate: { number: '39', url: urlOf('DelegateResourceContract') },
  undelegate: { number: '3a', url: urlOf('UnDelegateResourceContract') },
};

function urlOf(type: string): string {
  return lengthed('0a', Buffer.from(`type.googleapis.com/protocol.${type}`).toString('hex'));
}

/** Encodes a field of fewer than 128 bytes; all in hex. */
function lengthed(tag: string, hex: string): string {
  return tag + (hex.length / 2).toString(16).padStart(2, '0') + hex;
}

/** ref block (4 bytes), its hash (10 bytes), expiration, then the contract; last the timestamp. */
const LAYOUT = /^0a02[0-9a-f]{4}2208[0-9a-f]{16}40((?:[89a-f][0-9a-f])*[0-7][0-9a-f])5a([0-9a-f]{2})/;
const TIMESTAMP = /^70(?:[89a-f][0-9a-f]){0,8}[0-7][0-9a-f]$/;
const PERMISSION = /^(?:280[2-9])?$/;

/** Bounds the cache: receivers are many, wallets few. */
const ADDRESSES_KEPT = 2000;

export class ContentJudge {
  private readonly addresses = new Map<string, string>();

  actionOf(row: Pick<ContentRow, 'purpose' | 'address' | 'receive_address' | 'amount_sun' | 'kind'>): ChainAction {
    const parties = { owner: row.address, receiver: row.receive_address };
    if (row.purpose === 'activate') return { type: 'activate', ...parties };
    const type = row.purpose === 'delegate' ? 'delegate' : 'undelegate';
    return { type, ...parties, amountSun: row.amount_sun as Sun, resource: resourceOf(row.kind) };
  }

  /** Returns true if `rawData` is a transaction of exactly this action that expires at this time. */
  isOf(rawData: Buffer, action: ChainAction, expiresAt: Date): boolean {
    if (this.isLaidOutAs(rawData, action, expiresAt)) return true;
    const parsed = parseTransaction(rawData);
    return parsed?.expiresAtMs === expiresAt.getTime() && sameAction(parsed.action, action);
  }

  /** Returns true only if the bytes, in our builder's layout, hold nothing but this action; false means undecided. */
  private isLaidOutAs(rawData: Buffer, action: ChainAction, expiresAt: Date): boolean {
    if (action.type === 'activate') return false;
    const hex = rawData.toString('hex');
    const layout = LAYOUT.exec(hex);
    const [owner, receiver] = [this.hexOf(action.owner), this.hexOf(action.receiver)];
    if (layout === null || owner === undefined || receiver === undefined) return false;
    if (layout[1] !== varint(BigInt(expiresAt.getTime()))) return false;
    const contractBytes = Number.parseInt(layout[2] ?? '', 16);
    const start = layout[0].length;
    const contract = hex.slice(start, start + contractBytes * 2);
    if (contractBytes > 0x7f || !TIMESTAMP.test(hex.slice(start + contractBytes * 2))) return false;
    const amount = varint(action.amountSun);
    // TRON: BANDWIDTH is 0, which protobuf leaves out.
    const resource = action.resource === 'ENERGY' ? '1001' : '';
    const value = `${lengthed('0a', owner)}${resource}18${amount}${lengthed('22', receiver)}`;
    const { number, url } = BEGINNINGS[action.type];
    const head = `08${number}${lengthed('12', url + lengthed('12', value))}`;
    return contract.startsWith(head) && PERMISSION.test(contract.slice(head.length));
  }

  private hexOf(address: string): string | undefined {
    const known = this.addresses.get(address);
    if (known !== undefined) return known;
    const hex = addressBytes(address)?.toString('hex');
    if (this.addresses.size >= ADDRESSES_KEPT) this.addresses.clear();
    if (hex !== undefined) this.addresses.set(address, hex);
    return hex;
  }
}

function varint(value: bigint): string {
  let hex = '';
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) hex += (Number(rest & 0x7fn) | 0x80).toString(16);
  return hex + Number(rest).toString(16).padStart(2, '0');
}
