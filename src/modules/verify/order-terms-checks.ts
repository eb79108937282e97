/** Rules of the terms and times of orders (I2, I3, I10): price, request, events and blocks agree. */
import type { OrderCheck } from './record-check.js';
import { RECOVERY_PROJECT } from './recovery.js';

/** `creditsOf` in SQL: sun times the rate of eight digits, ten million credits a dollar, rounded up. */
const creditsOfSun = (sun: string, row: string): string =>
  `div((${sun})::numeric * ${row}.trx_usd_e8 + 9999999, 10000000)`;
const creditsFor = (row: string): string => creditsOfSun(`${row}.price_sun`, row);
const ORDER_CREDITS = creditsFor('o');
const EXTENSION_CREDITS = creditsFor('x');

const PRICE: OrderCheck = {
  check: 'order-price',
  rule: 'I2',
  says: 'The credits of an order or extension equal its price at its rate, rounded up.',
  stops: 'everything',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.price_sun, o.trx_usd_e8, o.credits, ${ORDER_CREDITS}::text AS should_be
      FROM the_orders o WHERE o.project_id <> '${RECOVERY_PROJECT}' AND o.credits <> ${ORDER_CREDITS}
      UNION ALL
      SELECT 'extension ' || x.number || ' of order ' || x.order_id, x.order_id, x.price_sun, x.trx_usd_e8, x.credits,
             ${EXTENSION_CREDITS}::text
        FROM the_extensions x WHERE x.credits <> ${EXTENSION_CREDITS}`,
};

/** `sumOfParts` in SQL: the sun of energy, and of energy and bandwidth. */
const UP_TO_BANDWIDTH = 'o.price_sun - coalesce(o.activation_price_sun, 0)';
const OF_ENERGY = `${UP_TO_BANDWIDTH} - coalesce(o.bandwidth_price_sun, 0)`;
const BANDWIDTH_CREDITS = `${creditsOfSun(UP_TO_BANDWIDTH, 'o')} - ${creditsOfSun(OF_ENERGY, 'o')}`;
const ACTIVATION_CREDITS = `${ORDER_CREDITS} - ${creditsOfSun(UP_TO_BANDWIDTH, 'o')}`;

const PARTS: OrderCheck = {
  check: 'order-parts',
  rule: 'I2',
  says: 'The parts of an order have their shares of its price and its charge, and energy has the rest.',
  stops: 'everything',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.price_sun, o.credits, o.trx_usd_e8, o.bandwidth, o.bandwidth_price_sun,
        o.bandwidth_credits, o.activation_price_sun, o.activation_credits
      FROM the_orders o
     WHERE num_nonnulls(o.bandwidth, o.bandwidth_price_sun, o.bandwidth_credits, o.activation_price_sun, o.activation_credits) > 0
       AND NOT coalesce(o.kind = 'rental' AND ${OF_ENERGY} > 0
         AND (num_nulls(o.bandwidth, o.bandwidth_price_sun, o.bandwidth_credits) = 3
           OR o.bandwidth > 0 AND o.bandwidth_price_sun > 0 AND o.bandwidth_credits = ${BANDWIDTH_CREDITS})
         AND (num_nulls(o.activation_price_sun, o.activation_credits) = 2
           OR o.activation_price_sun > 0 AND o.activation_credits = ${ACTIVATION_CREDITS}), false)`,
};

/** `requestHash` in SQL (src/modules/orders/request-hash.ts). JSON texts without spaces. */
const hashOf = (members: string): string => `sha256(convert_to('[' || ${members} || ']', 'UTF8'))`;
const DIRECT_HEAD = `'"orders","direct",' || to_json(o.receive_address)::text || ','`;
const usesIn = (row: string): string =>
  `CASE WHEN ${row}.expected_uses > 1 THEN ',' || ${row}.expected_uses ELSE '' END`;
const USES = usesIn('o');
const TRANSFER = `coalesce(',"transfer",' || to_json(o.transfer ->> 'to')::text || ',' || to_json(o.transfer ->> 'amount')::text
      || ',' || coalesce(to_json(o.transfer ->> 'token')::text, 'null'), '')`;
const FURTHER = `coalesce(',"bandwidth","' || o.bandwidth || '"', '')
      || CASE WHEN o.activation_credits IS NULL THEN '' ELSE ',"activate"' END`;
const SIZED_HASH = hashOf(`${DIRECT_HEAD} || '"' || o.energy || '",' || o.duration_sec || ${USES} || ${FURTHER}`);
const UNSIZED_HASH = hashOf(`${DIRECT_HEAD} || 'null,' || o.duration_sec || ${USES} || ${TRANSFER} || ${FURTHER}`);
const ACTIVATION_HASH = hashOf(`'"activate",' || to_json(o.receive_address)::text`);
const ADDED_TIME = `',' || x.duration_sec || ${usesIn('x')}`;
const EXTENSION_HASH = hashOf(`'"extensions",' || to_json(o.key)::text || ${ADDED_TIME}`);
/** An auto-delegation names the order by its id. */
const REFILL_HASH = hashOf(`'"extensions",' || to_json(o.id::text)::text || ${ADDED_TIME}`);

/** Quoted orders are excluded: their hash covers the quote's ref, which is not stored. */
const REQUEST: OrderCheck = {
  check: 'order-request',
  rule: 'I9',
  says: 'An order without a quote, or an extension, has the receiver, energy and duration of its request.',
  stops: 'everything',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.kind, o.receive_address, o.energy, o.duration_sec,
        encode(o.request_hash, 'hex') AS should_hash_to
      FROM the_orders o WHERE o.quote_id IS NULL AND o.project_id <> '${RECOVERY_PROJECT}'
       AND NOT CASE o.kind WHEN 'activation' THEN o.request_hash = ${ACTIVATION_HASH}
             ELSE o.request_hash = ${UNSIZED_HASH} OR (o.request_hash = ${SIZED_HASH} AND o.transfer IS NULL) END
      UNION ALL
      SELECT 'extension ' || x.number || ' of order ' || o.id, o.id, o.kind, o.receive_address, o.energy, x.duration_sec,
             encode(x.request_hash, 'hex')
        FROM the_extensions x JOIN the_orders o ON o.id = x.order_id
       WHERE x.request_hash NOT IN (${EXTENSION_HASH}, ${REFILL_HASH})`,
};

/** The order's status in an event of each type. */
const STATUS_SAID = `CASE e.type WHEN 'order.created' THEN 'reserved' WHEN 'order.reverted' THEN p.said ->> 'status'
        WHEN 'order.refunded' THEN 'refunded' WHEN 'order.unresolved' THEN 'unresolved' WHEN 'order.compensated' THEN p.said ->> 'status'
        ELSE 'delivered' END`;

/** Events show times in milliseconds. */
const shownAs = (time: string): string => `date_trunc('milliseconds', ${time})`;
const CREATED_SHOWN = shownAs('o.created_at');
const DELIVERED_SHOWN = shownAs('o.delivered_at');

const EXTENDED_SHOWN = shownAs('x.created_at');
const EXTENSION_END_SHOWN = shownAs('x.ends_at');
const END_SHOWN = shownAs('o.ends_at');

/** True if the newest extension in the event \`p\` has the terms of its row. */
const EXTENSION_SAID = `EXISTS (SELECT FROM the_extensions x CROSS JOIN LATERAL (SELECT p.said -> 'extensions' -> (x.number - 1) AS said) s
         WHERE x.order_id = o.id AND x.number = jsonb_array_length(p.said -> 'extensions')
           AND (s.said ->> 'key', s.said ->> 'duration_sec', s.said ->> 'credits', s.said ->> 'fee_limit_sun')
             IS NOT DISTINCT FROM (x.key, x.duration_sec::text, x.credits::text, x.fee_limit_sun::text)
           AND (s.said ->> 'at')::timestamptz = ${EXTENDED_SHOWN} AND (p.said ->> 'ends_at')::timestamptz = ${EXTENSION_END_SHOWN})`;

/** True if each delegation in the event \`p\` is a transaction of the order with the resource and units of its leg. */
const DELEGATIONS_SAID = `NOT EXISTS (SELECT FROM jsonb_array_elements(p.said -> 'delegations') g WHERE NOT EXISTS (
         SELECT FROM the_transactions t JOIN the_legs l ON l.id = t.leg_id WHERE t.order_id = o.id AND encode(t.txid, 'hex') = g ->> 'txid'
           AND (l.energy::text, l.bandwidth::text, l.amount_sun::text, CASE l.kind WHEN 'bandwidth' THEN 'BANDWIDTH' END)
             IS NOT DISTINCT FROM (g ->> 'energy', g ->> 'bandwidth', g ->> 'amount_sun', g ->> 'resource')))`;

/** \`itemsOf\` in SQL. */
const ITEMS = `(VALUES
         ('energy', o.energy, ${OF_ENERGY}, o.credits - coalesce(o.bandwidth_credits, 0) - coalesce(o.activation_credits, 0)),
         ('bandwidth', o.bandwidth, o.bandwidth_price_sun, o.bandwidth_credits),
         ('activation', 1, o.activation_price_sun, o.activation_credits)) i (kind, amount, sun, credits)`;

/** True if the event \`p\` has the items of the order. An order of energy alone has none. */
const ITEMS_SAID = `(SELECT count(*) FROM jsonb_array_elements(p.said -> 'items')) = 1 + num_nonnulls(o.bandwidth, o.activation_credits)
       AND NOT EXISTS (SELECT FROM jsonb_array_elements(p.said -> 'items') s LEFT JOIN ${ITEMS} ON i.kind = s ->> 'kind'
         WHERE (s ->> 'amount', s ->> 'price_sun', s ->> 'credits') IS DISTINCT FROM (i.amount::text, i.sun::text, i.credits::text))`;

/**
 * Skips events without a payload: those that were pruned or could not be rendered. `OFFSET 0` parses a payload once
 * instead of for each member.
 */
const EVENTS_SAY: OrderCheck = {
  check: 'order-said',
  rule: 'I10',
  says: 'The events of an order match its terms, and match its delivery once that is settled.',
  stops: 'everything',
  identity: ['event'],
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, e.id AS event, e.type, o.receive_address, o.energy, o.duration_sec,
        o.price_sun, o.credits, o.delivered_at, o.delivered_energy, o.bandwidth, o.delivered_bandwidth, o.kept_credits,
        left(p.said::text, 2000) AS said
      FROM the_events e JOIN the_orders o ON o.id = e.order_id
      CROSS JOIN LATERAL (SELECT (e.payload::jsonb) #> '{data,order}' AS said OFFSET 0) p
     WHERE e.payload IS NOT NULL AND e.type LIKE 'order.%' AND p.said IS NOT NULL AND (
       (p.said ->> 'id', p.said ->> 'key', p.said ->> 'kind', p.said ->> 'receive_address', p.said ->> 'status')
         IS DISTINCT FROM (o.id::text, o.key, o.kind, o.receive_address, ${STATUS_SAID})
       OR (p.said ->> 'energy', p.said ->> 'bandwidth', p.said ->> 'duration_sec', p.said ->> 'price_sun', p.said ->> 'credits')
         IS DISTINCT FROM (o.energy::text, o.bandwidth::text, o.duration_sec::text, o.price_sun::text, o.credits::text)
       OR (p.said -> 'items' IS NOT NULL OR num_nonnulls(o.bandwidth, o.activation_credits) > 0) AND NOT (${ITEMS_SAID})
       OR (p.said ->> 'expected_uses', (p.said ->> 'fee_limit_sun')::numeric)
         IS DISTINCT FROM (o.expected_uses::text, least(o.energy * o.energy_fee_sun::numeric, o.max_fee_limit_sun))
       OR ((p.said ->> 'trx_usd')::numeric * 100000000, (p.said ->> 'price_trx')::numeric * 1000000)
         IS DISTINCT FROM (o.trx_usd_e8::numeric, o.price_sun::numeric)
       OR (p.said ->> 'price_usd')::numeric IS DISTINCT FROM round(o.credits / 10.0) / 1000000
       OR (p.said ->> 'created_at')::timestamptz IS DISTINCT FROM ${CREATED_SHOWN}
       OR p.said ->> 'reference' IS DISTINCT FROM o.reference
       OR p.said -> 'metadata' IS DISTINCT FROM o.metadata::jsonb
       OR e.type IN ('order.settled', 'order.refunded') AND p.said ->> 'settled' IS DISTINCT FROM 'true'
       OR e.type = 'order.ended' AND (p.said ->> 'ends_at')::timestamptz IS DISTINCT FROM ${END_SHOWN}
       OR e.type = 'order.extended' AND NOT ${EXTENSION_SAID}
       OR e.type = 'order.settled' AND o.kind = 'rental' AND NOT o.test AND NOT ${DELEGATIONS_SAID}
       OR e.type = 'order.refunded' AND p.said ->> 'kept_credits' IS DISTINCT FROM o.kept_credits::text
       OR e.type = 'order.settled'
         AND ((p.said ->> 'delivered_at')::timestamptz, p.said ->> 'delivered_energy', p.said ->> 'delivered_bandwidth')
         IS DISTINCT FROM (${DELIVERED_SHOWN}, o.delivered_energy::text, o.delivered_bandwidth::text))`,
};

const TIMES: OrderCheck = {
  check: 'order-times',
  rule: 'I3',
  says: 'A leg was delivered at the time of its block, and a rental ended at the time of the last block that reclaimed it.',
  stops: 'everything',
  text: `SELECT 'leg ' || l.id || ' of order ' || l.order_id AS subject, l.order_id AS of_order, l.wallet_id, l.active_at AS recorded_at,
        t.block_at AS should_be
      FROM the_legs l JOIN the_transactions t ON t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('included', 'solid')
     WHERE l.active_at IS DISTINCT FROM t.block_at
      UNION ALL
      SELECT 'order ' || o.id, o.id, NULL, o.reclaimed_at, r.at
        FROM the_orders o JOIN (
          SELECT l.order_id, max(coalesce(t.block_at, l.closed_at)) AS at
            FROM the_legs l LEFT JOIN the_transactions t ON t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status = 'solid'
           WHERE l.status <> 'released' GROUP BY l.order_id HAVING bool_and(l.status = 'reclaimed')) r ON r.order_id = o.id
       WHERE o.status = 'delivered' AND o.settled AND o.kind = 'rental' AND o.reclaimed_at <> r.at`,
};

/** An order that was refunded or is unresolved says why; a delivery removes the reason. */
const ERROR: OrderCheck = {
  check: 'order-error',
  rule: 'I10',
  says: 'The error of an order is that of its status, and the one that its refund told.',
  stops: 'nothing',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.error_code, o.error
      FROM the_orders o CROSS JOIN LATERAL (
        SELECT CASE o.status WHEN 'refunded' THEN 'SUPPLIER_REFUSED' WHEN 'unresolved' THEN 'SUPPLIER_UNKNOWN' END AS code) s
     WHERE o.error_code <> coalesce(s.code, '') OR o.error IS NOT NULL AND s.code IS NULL
        OR o.error IS NOT NULL AND o.status = 'refunded' AND EXISTS (
          SELECT FROM the_events e WHERE e.order_id = o.id AND e.type = 'order.refunded' AND e.payload IS NOT NULL
             AND (e.payload::jsonb) #>> '{data,order,error}' <> o.error)`,
};

export const ORDER_TERMS_CHECKS: readonly OrderCheck[] = [PRICE, PARTS, REQUEST, EVENTS_SAY, ERROR, TIMES];
