// Orders beside a million finished ones, and beside few, in turn: what grows with history would show.
import type { Row } from './measure.js';
import { HttpRows, type Pace } from './rows-http.js';
import { Stage, type StageOptions } from './stage.js';

const COUNT = 1_000_000;
const BATCH = 50_000;
/** As the service makes them: version 7, of ten days ago. */
const QUOTE_ID = `(lpad(to_hex((extract(epoch FROM now() - interval '10 days') * 1000)::bigint + g / 100), 12, '0')
  || '7' || substr(md5('a' || g), 1, 3) || '8' || substr(md5('b' || g), 1, 15))::uuid`;

/** Two services of one Postgres server: a million orders in the tables of the one, and only its own in the other's. */
export async function millionRows(options: StageOptions, pace: Pace): Promise<Row[]> {
  const many = await Stage.open(options);
  try {
    const few = await Stage.open({ ...options, databaseUrl: many.world.databaseUrl });
    try {
      await loadMillion(many);
      const rows = await HttpRows.open(many, pace);
      const others = await HttpRows.open(few, pace);
      return await rows.ordersAgainst(others, ', 1 000 000 orders in the tables', 'the same with few orders', '≥ 0.90');
    } finally {
      await few.close();
    }
  } finally {
    await many.close();
  }
}

/** Finished orders with their legs, transactions and entries, spread over the stage's projects. */
async function loadMillion(stage: Stage): Promise<void> {
  const ids = stage.tenants.map((tenant) => tenant.id);
  await stage.database.query(`ALTER TABLE orders DISABLE TRIGGER USER`);
  for (let from = 0; from < COUNT; from += BATCH) {
    await stage.database.transaction(async (tx) => {
      await tx.query('SET LOCAL statement_timeout = 0');
      await tx.query(
        `WITH made AS (
           INSERT INTO orders (project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec,
             price_sun, credits, trx_usd_e8, settled, delivered_energy, created_at, delivered_at, ends_at, reclaimed_at, fence)
           SELECT ($1::uuid[])[1 + g % array_length($1::uuid[], 1)], 'old-' || g, sha256(int8send(g)),
             CASE WHEN g % 2 = 0 THEN ${QUOTE_ID} END, 'rental', 'delivered', 'TOldOrder', 65000, 3600, 2925000, 1, 30000000,
             true, 65100, now() - interval '10 days', now() - interval '10 days', now() - interval '9 days', now() - interval '9 days', 6
           FROM generate_series($2::bigint, $3::bigint) g RETURNING id, project_id),
         legs AS (
           INSERT INTO leg (order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at)
           SELECT id, 1, 'rental', 1, 'TOldOrder', 7000000000, 65100, 'reclaimed', now() - interval '10 days', now() - interval '9 days'
           FROM made RETURNING id, order_id),
         txs AS (
           INSERT INTO chain_tx (order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature,
             ref_block_number, expires_at, block_number, block_id, block_at, sends, sent_at)
           SELECT order_id, id, p.purpose, 1, 1, 'solid', sha256(convert_to(id || p.purpose, 'UTF8')), convert_to(id || p.purpose, 'UTF8'),
             decode(repeat('00', 65), 'hex'), 1, now(), 1, sha256('block'), now(), 1, now()
           FROM legs, (VALUES ('delegate'), ('reclaim')) AS p(purpose))
         INSERT INTO credit_entry (entry_key, project_id, contra, kind, credits, order_id)
         SELECT 'charge:' || id, project_id, 'revenue', 'charge', -1, id FROM made`,
        [ids, from, from + BATCH - 1],
      );
    });
    console.error(`  ${(from + BATCH).toString()} orders loaded`);
  }
  await stage.database.query(`ALTER TABLE orders ENABLE TRIGGER USER`);
  for (const table of ['orders', 'leg', 'chain_tx', 'credit_entry'])
    await stage.database.query(`VACUUM (ANALYZE) ${table}`);
  // What the load left behind is written out before anything is measured.
  await stage.database.query('CHECKPOINT');
}
