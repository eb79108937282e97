/**
 * Who writes events: the change itself, in its own transaction. A row of `event` is a move of an order, or an event of a
 * project's log, or both; `type` is null where a move is no event. It is written under the lock of the row that changed,
 * so that the ids of one object's events rise in the order of its changes.
 */

/** Nobody's orders: what was found on chain and is in no record (reconciliation/). They have moves, and no events. */
const NOBODY = `'00000000-0000-0000-0000-000000000000'`;

/** Where rows of orders are looked for: among those that are open, in the archive, or in both. */
export type Kept = 'open_' | 'archived_' | '';

/** The delegations of an order as they are now, for answers and events alike. */
export const legsOf = (order: string, kept: Kept = ''): string => `(
       SELECT json_agg(json_build_object(
           'owner', w.address, 'txid', encode(t.txid, 'hex'), 'energy', l.energy, 'amount_sun', l.amount_sun,
           'block_number', CASE WHEN t.status <> 'sending' THEN t.block_number END,
           'ended_early_by', CASE WHEN l.closed_at < ${order}.ends_at THEN encode(l.closed_by_txid, 'hex') END,
           'reclaim_txid', coalesce(encode(l.closed_by_txid, 'hex'), (SELECT encode(r.txid, 'hex') FROM ${kept}chain_tx r
                             WHERE r.order_id = l.order_id AND r.leg_id = l.id AND r.purpose = 'reclaim' AND r.status IN ('sending', 'included', 'solid')))
         ) ORDER BY l.leg_no)
         FROM ${kept}leg l
         JOIN pool_wallet w ON w.id = l.wallet_id
         JOIN ${kept}chain_tx t ON t.order_id = l.order_id AND t.leg_id = l.id AND t.purpose <> 'reclaim' AND t.status IN ('sending', 'included', 'solid')
        WHERE l.order_id = ${order}.id)`;

export const compensationsOf = (order: string): string => `(
       SELECT json_agg(json_build_object('credits', e.credits, 'at', e.created_at, 'reason', e.reason) ORDER BY e.id)
         FROM credit_entry e WHERE e.kind = 'compensation' AND e.order_id = ${order}.id)`;

/** What was bought beyond an order's own time, oldest first. */
export const extensionsOf = (order: string): string => `(
       SELECT json_agg(json_build_object('key', x.key, 'duration_sec', x.duration_sec, 'credits', x.credits, 'at', x.created_at)
                ORDER BY x.number)
         FROM order_extension x WHERE x.order_id = ${order}.id)`;

/** What an event keeps of an order: its row, and what an answer shows beside it. */
const snapshotOf = (order: string, kept: Kept): string => `json_build_object('order', row_to_json(${order}),
       'legs', ${legsOf(order, kept)},
       'compensations', ${compensationsOf(order)},
       'extensions', CASE WHEN ${order}.extensions > 0 THEN ${extensionsOf(order)} END)`;

const AS_CHANGED = snapshotOf('NEW', 'open_');
const AS_FOUND = snapshotOf('o', '');

/**
 * After an update of an order's status, of its being settled, of its extensions, or of the end of its rental. Taking an order back, which
 * ends in a refund, is told by the refund alone.
 */
const ORDER_CHANGED_SQL = `
CREATE OR REPLACE FUNCTION order_changed() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE
     v_moved boolean := OLD.status <> NEW.status;
     v_type text := CASE
       WHEN NEW.project_id = ${NOBODY} THEN NULL
       WHEN OLD.status <> NEW.status THEN CASE NEW.status
         WHEN 'delivered' THEN 'order.delivered'
         WHEN 'unresolved' THEN 'order.unresolved'
         WHEN 'refunded' THEN 'order.refunded'
         WHEN 'placed' THEN CASE OLD.status WHEN 'delivered' THEN 'order.reverted' END END
       WHEN NEW.status <> 'delivered' THEN NULL
       WHEN NEW.settled AND NOT OLD.settled THEN 'order.settled'
       WHEN NEW.extensions > OLD.extensions THEN 'order.extended'
       WHEN NEW.undoing OR OLD.reclaimed_at IS NOT DISTINCT FROM NEW.reclaimed_at THEN NULL
       WHEN NEW.reclaimed_at IS NULL THEN 'order.reverted'
       WHEN NEW.reclaimed_at < NEW.ends_at THEN 'order.ended_early'
       ELSE 'order.ended' END;
   BEGIN
     IF v_type IS NULL AND NOT v_moved THEN
       RETURN NULL;
     END IF;
     INSERT INTO event (order_id, from_status, to_status, chain_at, project_id, type, snapshot)
     VALUES (NEW.id, CASE WHEN v_moved THEN OLD.status END, CASE WHEN v_moved THEN NEW.status END,
             CASE WHEN v_moved THEN NEW.delivered_at WHEN v_type <> 'order.settled' THEN NEW.reclaimed_at END,
             NEW.project_id, v_type, CASE WHEN v_type IS NOT NULL THEN ${AS_CHANGED} END);
     RETURN NULL;
   END $$`;

/** After a ledger entry that gives something back for an order; whoever writes one holds the order’s row. */
const ORDER_COMPENSATED_SQL = `
CREATE OR REPLACE FUNCTION order_compensated() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (order_id, project_id, type, snapshot)
     SELECT o.id, o.project_id, 'order.compensated', ${AS_FOUND}
       FROM orders o WHERE o.id = NEW.order_id AND o.project_id <> ${NOBODY};
     RETURN NULL;
   END $$`;

const PROJECT_FROZEN_SQL = `
CREATE OR REPLACE FUNCTION project_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     SELECT p.id, CASE WHEN NEW.frozen THEN 'project.frozen' ELSE 'project.unfrozen' END,
            json_build_object('project', json_build_object('id', p.id, 'name', p.name, 'frozen', NEW.frozen))
       FROM project p WHERE p.id = NEW.project_id;
     RETURN NULL;
   END $$`;

/**
 * After a change that takes a balance below the threshold of its project. The condition of its trigger is that it was not
 * below before: there is one event until the balance has been as high again.
 */
const BALANCE_LOW_SQL = `
CREATE OR REPLACE FUNCTION balance_low() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO event (project_id, type, snapshot)
     VALUES (NEW.project_id, 'balance.low', json_build_object('balance', json_build_object(
       'credits', NEW.balance_credits::text, 'low_balance_credits', NEW.low_balance_credits::text)));
     RETURN NULL;
   END $$`;

/** The version before prunes moves by the name of their table; what it would delete is kept. */
const KEEP_MOVES_SQL = `
CREATE OR REPLACE FUNCTION keep_moves() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN RETURN NULL; END $$`;

export const EVENT_WRITERS: Readonly<Record<string, string>> = {
  order_changed: ORDER_CHANGED_SQL,
  order_compensated: ORDER_COMPENSATED_SQL,
  project_frozen: PROJECT_FROZEN_SQL,
  balance_low: BALANCE_LOW_SQL,
  keep_moves: KEEP_MOVES_SQL,
};
