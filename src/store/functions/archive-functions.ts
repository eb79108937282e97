/**
 * The archive: orders that are over, with their delegations and transactions, lie in tables of their own by ranges of the
 * order's id, as partitions of `orders`, `leg` and `chain_tx` beside what is open. A row comes there once, as it is, and
 * never changes again.
 */

/** How many orders a range holds: its tables are made before the first of them is archived. */
const RANGE = 1_000_000n;

/** How many days longer an order waits for the costs of its transactions. */
const UNPRICED_DAYS = 30;

/** Every column of an archived table but the one that says where a row lies: a row that lacks one is refused. */
const COLUMNS = {
  orders: `id, project_id, key, request_hash, quote_id, kind, status, receive_address, energy, duration_sec, price_sun, credits,
      trx_usd_e8, request_id, settled, undoing, needs_attention, error_code, error, delivered_energy, created_at, delivered_at,
      ends_at, reclaimed_at, placed_at, next_run_at, lease_until, fence, sun_per_energy_e6, top_up_after, judged, extensions,
      test, play_at, reference, metadata`,
  leg: `id, order_id, leg_no, kind, wallet_id, receive_address, amount_sun, energy, status, active_at, changed_at, closed_at,
      closed_by_txid, closed_reason, top_up, top_up_cause`,
  chain_tx: `id, order_id, leg_id, purpose, attempt, wallet_id, status, txid, raw_data, signature, ref_block_number, expires_at,
      block_number, block_id, block_at, sends, sent_at, evidence, created_at, fee_sun`,
} as const;

/**
 * Of a table of the archive: nothing is changed or deleted, and what comes is the very row that is open. Compared by
 * stored values: json has no equality.
 */
const ARCHIVED_ROW_SQL = `
CREATE OR REPLACE FUNCTION archived_row() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_open record := NEW;
     v_is_open boolean := false;
   BEGIN
     IF TG_OP = 'INSERT' THEN
       v_open.archived := false;
       IF TG_ARGV[0] = 'orders' THEN
         SELECT o *= v_open INTO v_is_open FROM open_orders o WHERE o.id = NEW.id;
       ELSIF TG_ARGV[0] = 'leg' THEN
         SELECT o *= v_open INTO v_is_open FROM open_leg o WHERE o.id = NEW.id;
       ELSE
         SELECT o *= v_open INTO v_is_open FROM open_chain_tx o WHERE o.id = NEW.id;
       END IF;
     END IF;
     IF v_is_open IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

/** Rows of orders are kept: deleted where they are open is only what stands in the archive just so. */
const KEPT_UNLESS_ARCHIVED_SQL = `
CREATE OR REPLACE FUNCTION kept_unless_archived() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_kept record := OLD;
     v_is_archived boolean := false;
   BEGIN
     v_kept.archived := true;
     IF OLD.archived THEN
       NULL;
     ELSIF TG_ARGV[0] = 'orders' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_orders a WHERE a.id = OLD.id;
     ELSIF TG_ARGV[0] = 'leg' THEN
       SELECT a *= v_kept INTO v_is_archived FROM archived_leg a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     ELSE
       SELECT a *= v_kept INTO v_is_archived FROM archived_chain_tx a WHERE a.order_id = OLD.order_id AND a.id = OLD.id;
     END IF;
     IF v_is_archived IS NOT TRUE THEN
       RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation';
     END IF;
     RETURN OLD;
   END $$`;

/**
 * The tables of the range that an order lies in, where they are not there yet. Made apart and attached: readers of the
 * archive go on meanwhile.
 */
const ADD_ARCHIVE_RANGE_SQL = `
CREATE OR REPLACE FUNCTION add_archive_range(p_order bigint) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     v_range bigint := p_order / ${RANGE.toString()};
     v_parent text;
     v_table text;
   BEGIN
     FOREACH v_parent IN ARRAY ARRAY['archived_orders', 'archived_leg', 'archived_chain_tx'] LOOP
       v_table := v_parent || '_' || v_range;
       CONTINUE WHEN to_regclass(v_table) IS NOT NULL;
       EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', v_table, v_parent);
       EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_parent, v_table,
                      v_range * ${RANGE.toString()}, (v_range + 1) * ${RANGE.toString()});
       -- Of a statement's trigger, unlike a row's, a partition has none of its parent.
       EXECUTE format('CREATE TRIGGER %I BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
                      v_table || '_no_truncate', v_table);
     END LOOP;
   END $$`;

/**
 * Archives those of the next p_limit orders after p_after that are over, were judged (reconciliation/judged-records.ts),
 * lack nothing that is looked up later and began before p_before, and a day ago at least, when no quote can be redeemed
 * any more; with all that belongs to them. Returns how many, and the last that was checked: null when no older one is
 * left. One at a time; with the owner's rights, for nobody else may delete orders.
 */
const ARCHIVE_ORDERS_SQL = `
CREATE OR REPLACE FUNCTION archive_orders(p_after bigint, p_before timestamptz, p_limit integer, OUT archived integer, OUT checked_to bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  v_orders bigint[];
BEGIN
  archived := 0;
  p_before := least(p_before, clock_timestamp() - interval '1 day');
  IF NOT pg_try_advisory_xact_lock(4202067) THEN
    RETURN;
  END IF;
  SELECT max(n.id) FILTER (WHERE n.is_old), array_agg(n.id) FILTER (WHERE n.is_old AND n.is_over) INTO checked_to, v_orders FROM (
    SELECT o.id, o.created_at < p_before AS is_old, o.judged AND NOT o.test AND NOT o.needs_attention AS is_over
      FROM open_orders o WHERE o.id > p_after ORDER BY o.id LIMIT p_limit) n;
  -- Who holds one of them now may change it: it is archived another time.
  SELECT array_agg(h.id) INTO v_orders FROM (
    SELECT o.id FROM open_orders o
     WHERE o.id = ANY (v_orders) AND o.judged AND o.next_run_at IS NULL AND (o.lease_until IS NULL OR o.lease_until < clock_timestamp())
       AND (o.status = 'refunded' OR o.status = 'delivered' AND o.settled AND (o.kind = 'activation' OR o.reclaimed_at IS NOT NULL))
       AND NOT EXISTS (SELECT FROM open_leg l WHERE l.order_id = o.id AND NOT (l.status IN ('reclaimed', 'released') OR l.kind = 'activation' AND l.status = 'active'))
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status NOT IN ('solid', 'dead', 'dropped'))
       -- What it cost is recorded where it is open; a node that lost its history cannot tell.
       AND (o.created_at < p_before - interval '${UNPRICED_DAYS.toString()} days'
         OR NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status = 'solid' AND t.fee_sun IS NULL))
       -- Of what was signed and given up, the search of blocks has seen that it stands in none, as far as it could live.
       AND NOT EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = o.id AND t.status IN ('dead', 'dropped') AND t.signature IS NOT NULL
             AND NOT coalesce((SELECT s.scanned_at > t.expires_at FROM reconcile_state s), false))
       -- There it is all that keeps the order from being bought again.
       AND EXISTS (SELECT FROM order_key k WHERE k.project_id = o.project_id AND k.key = o.key AND k.order_id = o.id AND k.extension IS NULL)
       AND NOT EXISTS (SELECT FROM event e WHERE e.order_id = o.id AND e.type IS NOT NULL AND e.position IS NULL)
     ORDER BY o.id FOR UPDATE SKIP LOCKED) h;
  IF v_orders IS NULL THEN
    RETURN;
  END IF;
  PERFORM add_archive_range(r.id) FROM (SELECT DISTINCT ON (id / ${RANGE.toString()}) id FROM unnest(v_orders) AS id) r;

  INSERT INTO archived_orders (${COLUMNS.orders}, archived) OVERRIDING SYSTEM VALUE
    SELECT ${COLUMNS.orders}, true FROM open_orders WHERE id = ANY (v_orders);
  INSERT INTO archived_leg (${COLUMNS.leg}, archived) OVERRIDING SYSTEM VALUE
    SELECT ${COLUMNS.leg}, true FROM open_leg WHERE order_id = ANY (v_orders);
  INSERT INTO archived_chain_tx (${COLUMNS.chain_tx}, archived) OVERRIDING SYSTEM VALUE
    SELECT ${COLUMNS.chain_tx}, true FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_chain_tx WHERE order_id = ANY (v_orders);
  DELETE FROM open_leg WHERE order_id = ANY (v_orders);
  DELETE FROM open_orders WHERE id = ANY (v_orders);
  archived := cardinality(v_orders);
END $$`;

export const ARCHIVE_FUNCTIONS: Readonly<Record<string, string>> = {
  archived_row: ARCHIVED_ROW_SQL,
  kept_unless_archived: KEPT_UNLESS_ARCHIVED_SQL,
  add_archive_range: ADD_ARCHIVE_RANGE_SQL,
  archive_orders: ARCHIVE_ORDERS_SQL,
};
