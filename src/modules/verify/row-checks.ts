/** Rules of single rows (I3, I5, I10): the row guards' demands, traces of later states, and consequences of a block. */
import type { OrderCheck } from './record-check.js';
import { RECOVERY_PROJECT } from './recovery.js';

/** True if an undelegation of the leg `l`, ours or foreign, is in a block. */
const IS_TAKEN_BACK = `(l.closed_at IS NOT NULL OR EXISTS (
      SELECT FROM the_transactions t WHERE t.leg_id = l.id AND t.purpose = 'reclaim' AND t.status IN ('included', 'solid')))`;

const ENDED: OrderCheck = {
  check: 'order-ended',
  rule: 'I6',
  says: 'A settled rental has ended if and only if all of its delegations have, and is not being undone.',
  stops: 'nothing',
  text: `SELECT 'order ' || o.id AS subject, o.id AS of_order, o.status, o.undoing, o.reclaimed_at, l.statuses
      FROM the_orders o JOIN (
        SELECT l.order_id, string_agg(DISTINCT l.status, ',' ORDER BY l.status) AS statuses,
               bool_and(l.status = 'reclaimed') AS are_over,
               bool_or(l.status = 'active' AND NOT ${IS_TAKEN_BACK}) AS is_running
          FROM the_legs l WHERE l.status <> 'released' GROUP BY l.order_id) l ON l.order_id = o.id
     WHERE o.status = 'delivered' AND o.settled AND o.kind = 'rental' AND (
       o.undoing OR CASE WHEN o.reclaimed_at IS NULL THEN l.are_over ELSE l.is_running END)`,
};

/** TRON: the id of a block begins with its number in eight bytes. */
const NUMBER_IN_ID = `lpad(to_hex(t.block_number), 16, '0')`;

/** A block that is reverted takes its number from the transaction; a count of sends and a proof of death stay. */
const HAS_BEEN_FURTHER = `CASE t.status
        WHEN 'built' THEN num_nonnulls(t.signature, t.sent_at, t.block_number, t.evidence) > 0 OR t.sends > 0
        WHEN 'signed' THEN num_nonnulls(t.sent_at, t.block_number, t.evidence) > 0 OR t.sends > 0
        WHEN 'sending' THEN num_nonnulls(t.block_number, t.evidence) > 0
        WHEN 'included' THEN t.evidence IS NOT NULL ELSE false END`;

const TRANSACTION: OrderCheck = {
  check: 'transaction-shape',
  rule: 'I10',
  says: 'A sent transaction has a signature, an included one has a block, and the block of a final one has its number in its ID and is not before its reference. None has traces of a later state.',
  stops: 'everything',
  text: `SELECT 'transaction ' || encode(t.txid, 'hex') AS subject, t.order_id AS of_order, t.wallet_id, t.status, t.attempt,
        t.block_number, encode(t.block_id, 'hex') AS block_id, t.block_at, t.ref_block_number, t.fee_sun
      FROM the_transactions t
     WHERE t.attempt < 1 OR coalesce(length(t.signature) <> 65, t.status NOT IN ('built', 'dropped'))
        OR t.fee_sun < 0 OR (t.fee_sun IS NOT NULL AND t.block_number IS NULL) OR ${HAS_BEEN_FURTHER}
        OR (t.status IN ('included', 'solid') AND NOT coalesce(t.block_at IS NOT NULL AND t.block_number IS NOT NULL
              AND length(t.block_id) = 32, false))
        OR (t.status = 'solid' AND (t.block_number < t.ref_block_number
              OR encode(substring(t.block_id FROM 1 FOR 8), 'hex') <> ${NUMBER_IN_ID}))`,
};

/** An operator who closes a leg gives the reason of the act. */
const HAS_ACT = `EXISTS (SELECT FROM audit_log a WHERE a.action = 'orders.close-leg' AND a.subject = l.order_id::text
      AND a.reason = l.closed_reason AND (a.detail ->> 'leg')::integer = l.leg_no)`;

const IS_DELIVERED = `(l.status IN ('active', 'reclaiming', 'reclaimed'))`;

const LEG: OrderCheck = {
  check: 'leg-shape',
  rule: 'I10',
  says: 'A leg has units of its own resource once it is delivered, and of no other. One that ended by another’s act has its time and evidence: a transaction, or an operator’s action.',
  stops: 'everything',
  text: `SELECT 'leg ' || l.id || ' of order ' || l.order_id AS subject, l.order_id AS of_order, l.wallet_id, l.status, l.closed_at,
        l.closed_reason, l.top_up, l.top_up_cause, l.amount_sun, l.kind, l.energy, l.bandwidth
      FROM the_legs l JOIN the_orders o ON o.id = l.order_id
     WHERE o.project_id <> '${RECOVERY_PROJECT}' AND (l.amount_sun <= 0 OR (l.top_up_cause IS NOT NULL AND NOT l.top_up)
        OR (l.energy IS NOT NULL) <> (${IS_DELIVERED} AND l.kind = 'rental')
        OR (l.bandwidth IS NOT NULL) <> (${IS_DELIVERED} AND l.kind = 'bandwidth')
        OR CASE WHEN l.closed_at IS NULL THEN l.closed_by_txid IS NOT NULL OR l.closed_reason IS NOT NULL
             ELSE l.status <> 'reclaimed' OR (l.closed_by_txid IS NULL AND l.closed_reason IS NULL)
               OR (l.closed_reason IS NOT NULL AND l.kind <> 'activation' AND NOT ${HAS_ACT}) END)`,
};

/** Compares chain time with chain time, and database time with database time. */
const LATE: OrderCheck = {
  check: 'transaction-late',
  rule: 'I5',
  says: 'Every transaction is final, dead or dropped an hour after its block or its expiry.',
  stops: 'nothing',
  text: `SELECT 'transaction ' || encode(t.txid, 'hex') AS subject, t.order_id AS of_order, t.wallet_id, t.purpose, t.status, t.block_at,
        t.expires_at, t.created_at
      FROM the_transactions t CROSS JOIN deposit_cursor c
     WHERE t.stage = 'open' AND coalesce(t.block_at, t.expires_at) < c.block_at - interval '1 hour'
       AND t.created_at < clock_timestamp() - interval '1 hour'`,
};

export const ROW_CHECKS: readonly OrderCheck[] = [ENDED, TRANSACTION, LEG, LATE];
