// Inserts any number of ended and judged orders, with their keys, legs, transactions and entries.

/** Every fifth order is an activation. */
const ACTIVATIONS_OF = 5;
export const ENDED_AMOUNT_SUN = 7_000_000_000n;
/** UUIDs of version 7 as the service makes them, dated ten days ago. */
const QUOTE_ID = `(lpad(to_hex((extract(epoch FROM now() - interval '10 days') * 1000)::bigint + g / 100), 12, '0')
  || '7' || substr(md5('a' || g), 1, 3) || '8' || substr(md5('b' || g), 1, 15))::uuid`;
/** The hash of the order's request, as src/modules/orders/request-hash.ts forms it. */
const REQUEST_HASH = `sha256(convert_to(CASE k.kind WHEN 'activation' THEN '["activate","' || $4::text || '"]'
  ELSE '["orders","direct","' || $4::text || '","' || k.energy || '",' || k.duration || ']' END, 'UTF8'))`;
/** A six-byte timestamp ends each transaction and makes it unique. */
const RAW = `CREATE OR REPLACE FUNCTION pg_temp.raw(begin_hex text, n bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT decode(begin_hex || string_agg(lpad(to_hex((((1600000000000 + n) >> (7 * i)) & 127) | CASE WHEN i < 5 THEN 128 ELSE 0 END), 2, '0'), '' ORDER BY i), 'hex')
    FROM generate_series(0, 5) i $$`;

/** Also runs on a schema from before the archive, which lacks the column. */
const loadOf = (isArchived: boolean): string => {
  const [column, value] = isArchived ? [', archived', ', true'] : ['', ''];
  return `WITH made AS (
    INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun,
      credits, trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at, reclaimed_at, fence, judged${column})
    SELECT ($1::uuid[])[1 + g % array_length($1::uuid[], 1)], 'old-' || g, ${REQUEST_HASH},
      CASE WHEN g % 2 = 0 THEN ${QUOTE_ID} END, k.kind, 'delivered', $4, k.energy, k.duration, 2925000, 1, 1,
      true, k.delivered, t.at, t.at, t.at + k.duration * interval '1 second', t.at + (k.duration + 3) * interval '1 second', 6, true${value}
    FROM generate_series($2::bigint, $3::bigint) g
    CROSS JOIN (SELECT now() - interval '10 days' AS at) t
    CROSS JOIN LATERAL (SELECT CASE WHEN g % ${ACTIVATIONS_OF.toString()} = 0 THEN 'activation' ELSE 'rental' END AS kind) kinds
    JOIN (VALUES ('rental', 65000, 3600, 65100), ('activation', NULL, NULL, NULL)) k (kind, energy, duration, delivered) ON k.kind = kinds.kind
    RETURNING id, project_id, key, kind, delivered_at, reclaimed_at),
  legs AS (
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at, closed_reason${column})
    SELECT id, 1, kind, CASE kind WHEN 'rental' THEN $5::int ELSE $6::int END, $4, ${ENDED_AMOUNT_SUN.toString()},
      CASE kind WHEN 'rental' THEN 65100 END, 'reclaimed', delivered_at, delivered_at,
      CASE kind WHEN 'activation' THEN delivered_at END, CASE kind WHEN 'activation' THEN 'activated' END${value}
    FROM made RETURNING id, order_id, kind, wallet_id, active_at),
  txs AS (
    INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number,
      expires_at, block_number, block_id, block_at, sends, sent_at${column})
    SELECT l.order_id, l.id, p.purpose, 1, l.wallet_id, 'solid', sha256(r.raw), r.raw, decode(repeat('00', 65), 'hex'),
      1, l.active_at, 1, sha256('block'), l.active_at + p.after * interval '1 second', 1, l.active_at${value}
    FROM legs l JOIN (VALUES ('rental', 'delegate', $7, 0, 0), ('rental', 'reclaim', $8, 1, 3603), ('activation', 'activate', $9, 0, 0))
      AS p (kind, purpose, begin_hex, n, after) ON p.kind = l.kind
    CROSS JOIN LATERAL (SELECT pg_temp.raw(p.begin_hex, l.id * 2 + p.n) AS raw) r),
  keys AS (INSERT INTO order_key (project_id, key, order_id) SELECT project_id, key, id FROM made)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, created_at)
  SELECT 'charge:' || id, project_id, 'revenue', 'charge', -1, id, delivered_at FROM made`;
};

export const ENDED_TABLES = ['orders', 'leg', 'chain_tx', 'credit_entry', 'order_key'] as const;

export interface EndedOrders {
  readonly projects: readonly string[];
  readonly receiver: string;
  readonly poolWallet: number;
  readonly activationWallet: number;
  /** The first bytes of each transaction, in hex. Six more bytes make each one unique. */
  readonly begins: Readonly<Record<'delegate' | 'reclaim' | 'activate', string>>;
  /** The range of numbers in the orders' keys. */
  readonly from: number;
  readonly to: number;
  readonly isArchived: boolean;
}

/** Inserts the orders. Run it in a transaction of the tables' owner with triggers off: the rows satisfy the guards. */
export async function insertEnded(
  run: (text: string, params?: readonly unknown[]) => Promise<unknown>,
  orders: EndedOrders,
): Promise<void> {
  const { projects, receiver, poolWallet, activationWallet, begins, from, to, isArchived } = orders;
  await run(RAW);
  await run(loadOf(isArchived), [
    ...[projects, from, to, receiver, poolWallet, activationWallet],
    ...[begins.delegate, begins.reclaim, begins.activate],
  ]);
}
