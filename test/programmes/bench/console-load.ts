// The consoles' data set: a million orders over ninety days of a thousand projects, three in ten of one project. It has
// legs, transactions, ledger, events, deposits, refused requests and audit entries in plausible numbers.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { addressFromBytes } from '../../../src/platform/chain/address.js';
import type { BenchCluster } from './cluster.js';

export const ORDERS = 1_000_000;
const PROJECTS = 1000;
const RECEIVERS = 5000;
const DAYS = 90;
/** Days for which events keep their payload. */
const EVENT_DAYS = 30;
const BATCH = 100_000;
const LOAD_LIMIT_MS = 1_200_000;
const RESTING = [
  ...['orders', 'leg', 'chain_tx', 'broadcast', 'credit_entry', 'event', 'deposit', 'refused_request', 'audit_log'],
  ...['webhook_endpoint', 'webhook_delivery', 'auto_delegation'],
];

/** `pg_temp.any(n, salt)`: a deterministic pseudo-random number from 0 to 1. */
const CHANCE = `CREATE FUNCTION pg_temp.any(n bigint, salt text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT ('x' || substr(md5(salt || n), 1, 8))::bit(32)::bigint / 4294967296.0 $$`;

/**
 * `$1`, `$2`: range of order numbers; `$3` projects, `$4` receivers, `$5` total number of orders, `$6`, `$7` wallets.
 */
const LOAD_ORDERS = `WITH plan AS (
    SELECT g, now() - interval '${DAYS.toString()} days' + g * interval '${DAYS.toString()} days' / $5::bigint AS at,
      CASE WHEN g % 10 < 3 THEN 1 ELSE 2 + floor(pg_temp.any(g, 'project') ^ 2 * (array_length($3::uuid[], 1) - 1))::int END AS project,
      1 + floor(pg_temp.any(g, 'receiver') ^ 3 * array_length($4::text[], 1))::int AS receiver,
      g % 50 = 7 AS is_activation, g % 40 = 11 AS is_refunded, g % 100000 = 4242 AS is_stuck,
      (ARRAY[65000, 65000, 131000, 100000])[1 + g % 4]::bigint AS energy, (ARRAY[3600, 3600, 86400, 300])[1 + g / 4 % 4] AS duration
    FROM generate_series($1::bigint, $2::bigint) g),
  made AS (
    INSERT INTO orders (project_id, key, request_hash, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, settled, delivered_energy, created_at, placed_at, delivered_at, ends_at, reclaimed_at, fence, judged, request_id,
      reference, error_code, error, needs_attention, sun_per_energy_e6)
    SELECT ($3::uuid[])[p.project], 'order-' || g, sha256(int8send(g)), CASE WHEN is_activation THEN 'activation' ELSE 'rental' END,
      CASE WHEN is_stuck THEN 'unresolved' WHEN is_refunded THEN 'refunded' ELSE 'delivered' END, ($4::text[])[p.receiver],
      CASE WHEN NOT is_activation THEN energy END, CASE WHEN NOT is_activation THEN duration END,
      CASE WHEN is_activation THEN 1100000 ELSE energy * 45 END, CASE WHEN is_activation THEN 3300000 ELSE energy * 135 END, 30000000,
      NOT is_stuck, CASE WHEN NOT is_activation THEN energy + 100 END, at, at + interval '0.2 s',
      CASE WHEN NOT (is_refunded OR is_stuck) THEN at + interval '3.1 s' END,
      CASE WHEN NOT (is_refunded OR is_stuck OR is_activation) THEN at + duration * interval '1 s' END,
      CASE WHEN NOT (is_refunded OR is_stuck OR is_activation) AND at + (duration + 6) * interval '1 s' < now()
        THEN at + (duration + 3) * interval '1 s' END,
      6, true, 'req_' || substr(md5('request' || g), 1, 24), CASE WHEN g % 2 = 0 THEN 'invoice-' || g / 6 END,
      CASE WHEN is_refunded THEN 'SUPPLIER_REFUSED' END, CASE WHEN is_refunded THEN 'The energy could not be delivered.' END, is_stuck,
      CASE WHEN NOT (is_refunded OR is_stuck OR is_activation) THEN 7000000 END
    FROM plan p ORDER BY g
    RETURNING id, project_id, kind, status, credits, energy, created_at, delivered_at, ends_at, reclaimed_at, receive_address),
  legs AS (
    INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at, closed_reason)
    SELECT id, 1, kind, CASE kind WHEN 'rental' THEN $6::int ELSE $7::int END, receive_address, coalesce(energy, 100000) * 110000, energy,
      CASE WHEN status = 'refunded' THEN 'released' WHEN status = 'unresolved' THEN 'placed'
        WHEN kind = 'rental' AND reclaimed_at IS NULL THEN 'active' ELSE 'reclaimed' END,
      delivered_at, coalesce(reclaimed_at, delivered_at, created_at),
      CASE WHEN kind = 'activation' THEN delivered_at END, CASE WHEN kind = 'activation' THEN 'activated' END
    FROM made ORDER BY id RETURNING id, order_id, kind, wallet_id),
  txs AS (
    INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number,
      expires_at, block_number, block_id, block_at, sends, sent_at, fee_sun, created_at)
    SELECT m.id, l.id, p.purpose, 1, l.wallet_id, CASE WHEN p.at IS NULL THEN 'dead' ELSE 'solid' END, sha256(r.raw), r.raw,
      decode(repeat('00', 65), 'hex'), 1, coalesce(p.at, m.created_at) + interval '60 s',
      CASE WHEN p.at IS NOT NULL THEN 70000000 + m.id END, CASE WHEN p.at IS NOT NULL THEN sha256(int8send(m.id)) END, p.at, 1,
      coalesce(p.at, m.created_at), CASE WHEN p.at IS NOT NULL THEN 345000 END, coalesce(p.at, m.created_at)
    FROM made m JOIN legs l ON l.order_id = m.id
    CROSS JOIN LATERAL (VALUES (CASE l.kind WHEN 'rental' THEN 'delegate' ELSE 'activate' END, m.delivered_at), ('reclaim', m.reclaimed_at)) p (purpose, at)
    CROSS JOIN LATERAL (SELECT decode(repeat(md5(p.purpose || l.id), 6), 'hex') AS raw) r
    WHERE p.purpose <> 'reclaim' OR p.at IS NOT NULL ORDER BY m.id)
  INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id, api_key_id, created_at)
  SELECT e.kind || ':' || m.id, m.project_id, 'revenue', e.kind, e.credits, m.id, m.project_id, e.at
  FROM made m CROSS JOIN LATERAL (VALUES ('charge', -m.credits, m.created_at), ('refund', m.credits, m.created_at + interval '70 s')) e (kind, credits, at)
  WHERE e.kind = 'charge' OR m.status = 'refunded' ORDER BY e.at`;

/**
 * Every move of an order has a row; recent ones are events that callers read. `$1`: an order's body, without the
 * members that differ.
 */
const LOAD_EVENTS = `INSERT INTO event (order_id, project_id, at, chain_at, type, from_status, to_status, payload, position)
  SELECT order_id, project_id, at, chain_at, type, from_status, to_status, CASE WHEN is_kept THEN
      '{"id":"evt_' || md5(type || order_id) || '","type":"' || type || '","position":' || position || ',"timestamp":"' ||
      to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","data":{"order":{"key":"' || key || '",' || $1 || '}}}' END,
    CASE WHEN is_kept THEN position END
  FROM (SELECT o.id AS order_id, o.key, o.project_id, t.at, t.chain_at, t.type, t.from_status, t.to_status,
      t.at > now() - interval '${EVENT_DAYS.toString()} days' AS is_kept,
      row_number() OVER (PARTITION BY o.project_id, t.at > now() - interval '${EVENT_DAYS.toString()} days' ORDER BY t.at) AS position
    FROM orders o CROSS JOIN LATERAL (VALUES ('order.created', NULL, NULL, o.created_at, NULL),
      ('order.delivered', 'placed', 'delivered', o.delivered_at, o.delivered_at), ('order.settled', NULL, NULL, o.delivered_at + interval '57 s', NULL),
      ('order.ended', NULL, NULL, o.reclaimed_at, o.reclaimed_at),
      ('order.refunded', 'placed', 'refunded', CASE o.status WHEN 'refunded' THEN o.created_at + interval '70 s' END, NULL))
      AS t (type, from_status, to_status, at, chain_at)
    WHERE t.at IS NOT NULL) e
  ORDER BY at`;

const ORDER_BODY = JSON.stringify({
  ...{
    status: 'delivered',
    kind: 'rental',
    settled: true,
    energy: 65_000,
    duration_sec: 3600,
    energy_credits: 8_775_000,
  },
  ...{
    receive_address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    trx_usd: '0.3',
    delivered_at: '2026-01-01T00:00:00.000Z',
  },
  delegations: [
    { txid: '0'.repeat(64), owner: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', energy: 65_100, block_number: 70_000_000 },
  ],
}).slice(1, -1);

const LOAD_REST = [
  `INSERT INTO broadcast (chain_tx_id, node, answer, message, sent_at)
    SELECT t.id, 'node-' || t.id % 2, CASE WHEN t.id % 97 = 0 THEN 'SERVER_BUSY' ELSE 'SUCCESS' END, NULL, t.sent_at FROM chain_tx t ORDER BY t.id`,
  `INSERT INTO event_position (project_id, position)
    SELECT project_id, max(position) FROM event WHERE position IS NOT NULL GROUP BY 1
    ON CONFLICT (project_id) DO UPDATE SET position = EXCLUDED.position`,
  // Some projects pay in often, most rarely.
  `WITH paid AS (
      INSERT INTO deposit (project_id, address, txid, kind, place, asset, from_address, amount, block_number, block_id, block_at,
        status, reason, rate_e8, entry_key, credits, seen_at, changed_at)
      SELECT a.project_id, a.address, sha256(convert_to(a.address || n, 'UTF8')), 'log', 0, 'USDT', a.address, 250000000, 70000000 + n,
        sha256(convert_to('b' || n, 'UTF8')), t.at, CASE WHEN n = 3 AND a.place % 100 = 0 THEN 'held' ELSE 'credited' END,
        CASE WHEN n = 3 AND a.place % 100 = 0 THEN 'amount' END, 100000000,
        'deposit:' || encode(sha256(convert_to(a.address || n, 'UTF8')), 'hex') || ':log:0', 2500000000, t.at, t.at + interval '60 s'
      FROM deposit_address a CROSS JOIN LATERAL generate_series(1, CASE WHEN a.project_id = $1 THEN 20000 ELSE 20 END) n
      CROSS JOIN LATERAL (SELECT now() - pg_temp.any(a.place * 100000 + n, 'deposit') * interval '${DAYS.toString()} days' AS at) t
      ORDER BY t.at RETURNING project_id, entry_key, credits, changed_at, status)
    INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, actor, reason, created_at)
    SELECT entry_key, project_id, 'funding', 'topup', credits, 'chain', 'deposit', changed_at FROM paid WHERE status = 'credited' ORDER BY changed_at`,
  `INSERT INTO refused_request (project_id, key_id, request_id, method, path, status, error, reason, source_address, at)
    SELECT CASE WHEN g % 2 = 0 THEN $1::uuid ELSE p.id END, NULL, 'req_' || substr(md5('refused' || g), 1, 24), 'POST', '/v1/orders', 401,
      'INVALID_SIGNATURE', 'The signature of this request matches no API key of the project.', '203.0.113.' || g % 200,
      now() - interval '7 days' + g * interval '7 days' / 100000
    FROM generate_series(1, 100000) g JOIN (SELECT id, row_number() OVER () AS n, count(*) OVER () AS c FROM project) p ON p.n = 1 + g % p.c ORDER BY g`,
  `INSERT INTO audit_log (actor, action, subject, reason, detail, at, login_role, acting_role, os_user)
    SELECT (ARRAY['ops@energy.example', 'mira@acme.example', 'cli'])[1 + g % 3], (ARRAY['console.look', 'project.options', 'credits.topup', 'key.rotate'])[1 + g % 4],
      CASE WHEN g % 3 = 0 THEN $1::text ELSE p.id::text END, 'as asked', '{"what":"orders"}', now() - interval '${DAYS.toString()} days' + g * interval '${DAYS.toString()} days' / 200000,
      'energy_cli', 'energy_cli', 'bench'
    FROM generate_series(1, 200000) g JOIN (SELECT id, row_number() OVER () AS n, count(*) OVER () AS c FROM project) p ON p.n = 1 + g % p.c ORDER BY g`,
  // Disabled, so that nothing is sent during the measurement.
  `INSERT INTO webhook_endpoint (id, project_id, url, secret_sealed, disabled_at, disabled_reason)
    VALUES ($1::uuid, $1::uuid, 'https://shop.example/energy', '\\x00', now(), 'owner')`,
  `INSERT INTO webhook_state (endpoint_id) VALUES ($1::uuid) ON CONFLICT DO NOTHING`,
  `INSERT INTO webhook_delivery (endpoint_id, event_id, event_key, type, payload, status, attempts, answer_status, cause, created_at, attempted_at, ended_at, next_at, position)
    SELECT $1::uuid, id, 'evt_' || md5(type || order_id), type, NULL, CASE WHEN id % 200 = 0 THEN 'failed' ELSE 'delivered' END, 1, 200, 'event', at, at, at, NULL, position
      FROM event WHERE project_id = $1::uuid AND position IS NOT NULL ORDER BY id DESC LIMIT 200000`,
  `INSERT INTO auto_delegation (project_id, address, api_key_id, keep_energy, refill_below, duration_sec, daily_cap_credits, idle_after_sec, pause_reason, paused_at)
    SELECT $1::uuid, a, $1::uuid, 131000, 104800, 86400, 100000000, 86400, CASE WHEN n % 10 = 0 THEN 'NO_CREDITS' END, CASE WHEN n % 10 = 0 THEN now() END
      FROM unnest($2::text[]) WITH ORDINALITY t (a, n) WHERE n <= 500`,
  `UPDATE credit_account a SET balance_credits = e.credits
    FROM (SELECT project_id, sum(credits) AS credits FROM credit_entry GROUP BY project_id) e WHERE e.project_id = a.project_id`,
] as const;

/** Names for requests to the loaded data. */
export interface Loaded {
  /** Project with three in ten of all orders. */
  readonly largest: string;
  /** Project with as few orders as most have. */
  readonly small: string;
  readonly receivers: { readonly usual: string; readonly rare: string };
}

/** Loads the data set. `cluster` already has some projects and DEPOSIT_XPUB; only the API may run on it. */
export async function loadConsoles(cluster: BenchCluster, orders = ORDERS): Promise<Loaded> {
  const { database, service } = cluster;
  const receivers = Array.from({ length: RECEIVERS }, (_, index) =>
    addressFromBytes(
      Buffer.concat([
        Buffer.of(0x41),
        createHash('sha256').update(`receiver ${index.toString()}`).digest().subarray(0, 20),
      ]),
    ),
  );
  const ids = await addProjects(cluster);
  await service.cli('deposits', 'use-account');
  const [largest = '', small = ''] = [ids[0], ids.at(-1)];
  const wallets = await database.query<{ id: number; role: string }>('SELECT id, role FROM pool_wallet ORDER BY id');
  const [pool, activation] = ['pool', 'activation'].map((role) => wallets.find((wallet) => wallet.role === role)?.id);
  await database.transaction(async (tx) => {
    const run = async (text: string, params: readonly unknown[] = []): Promise<void> => {
      await tx.query({ text, query_timeout: LOAD_LIMIT_MS }, params);
    };
    for (const setting of ['statement_timeout = 0', 'idle_in_transaction_session_timeout = 0', `work_mem = '256MB'`])
      await run(['SET LOCAL', setting].join(' '));
    for (const table of RESTING) await run(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await run(CHANCE);
    for (let from = 1; from <= orders; from += BATCH) {
      const to = Math.min(orders, from + BATCH - 1);
      await run(LOAD_ORDERS, [from, to, ids, receivers, orders, pool, activation]);
      console.error(`  ${to.toString()} orders loaded`);
    }
    await run(LOAD_EVENTS, [ORDER_BODY]);
    for (const text of LOAD_REST)
      await run(text, [largest, receivers].slice(0, text.includes('$2') ? 2 : text.includes('$1') ? 1 : 0));
    for (const table of RESTING) await run(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  });
  await tidy(service.databaseUrl);
  return { largest, small, receivers: { usual: receivers[0] ?? '', rare: receivers.at(-5) ?? '' } };
}

/** Uses a client without the timeouts of the service's own connections. */
async function tidy(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString, statement_timeout: 0, query_timeout: LOAD_LIMIT_MS });
  await client.connect();
  try {
    for (const text of ['VACUUM (ANALYZE)', 'CHECKPOINT']) await client.query(text);
  } finally {
    await client.end();
  }
}

/** Creates the missing projects, with unusable keys, and returns all ids. */
async function addProjects({ database, tenants }: BenchCluster): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(
    `INSERT INTO project (id, name, api_key_sealed) SELECT gen_random_uuid(), 'Shop number ' || n, '\\x00' FROM generate_series(1, $1::int) n RETURNING id`,
    [PROJECTS - tenants.length],
  );
  const made = rows.map(({ id }) => id);
  await database.query('INSERT INTO credit_account (project_id) SELECT unnest($1::uuid[])', [made]);
  return [...tenants.map(({ id }) => id), ...made];
}
