/**
 * The state tables of orders/order-state.ts as database triggers: what the code may not do by mistake, the database
 * refuses. A migration writes what this generates; a test compares the two.
 */
import { CHAIN_TX_TRANSITIONS, LEG_TRANSITIONS, ORDER_TRANSITIONS } from '../orders/order-state.js';

type Transitions = Readonly<Record<string, readonly string[]>>;

function pairs(transitions: Transitions): string {
  return Object.entries(transitions)
    .flatMap(([from, tos]) => tos.map((to) => `('${from}','${to}')`))
    .join(', ');
}

function statusList(transitions: Transitions): string {
  return Object.keys(transitions)
    .map((status) => `'${status}'`)
    .join(', ');
}

function refuseUnless(table: string, transitions: Transitions): string {
  return `
  IF (OLD.status, NEW.status) NOT IN (${pairs(transitions)}) THEN
    RAISE EXCEPTION '${table} %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;`;
}

export const ORDER_STATUS_LIST = statusList(ORDER_TRANSITIONS);
export const LEG_STATUS_LIST = statusList(LEG_TRANSITIONS);
export const CHAIN_TX_STATUS_LIST = statusList(CHAIN_TX_TRANSITIONS);

/** Orders: legal moves only, each with its audit row; a settled order stays; a refund needs every leg ended. */
export const ORDERS_TRIGGER_BODY = `
BEGIN${refuseUnless('order', ORDER_TRANSITIONS)}
  IF OLD.settled THEN
    RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status = 'refunded' AND EXISTS (
    SELECT FROM leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
    RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO order_event (order_id, from_status, to_status, chain_at)
  VALUES (NEW.id, OLD.status, NEW.status, NEW.delivered_at);
  RETURN NEW;
END`;

/** Legs: legal moves only; released only when none of its transactions can ever be included. */
export const LEG_TRIGGER_BODY = `
BEGIN${refuseUnless('leg', LEG_TRANSITIONS)}
  IF NEW.status = 'released' AND EXISTS (
    SELECT FROM chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
    RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END`;

/** Chain transactions: legal moves only, and the bytes never change. */
export const CHAIN_TX_TRIGGER_BODY = `
BEGIN${refuseUnless('chain transaction', CHAIN_TX_TRANSITIONS)}
  IF NEW.txid <> OLD.txid OR NEW.raw_data <> OLD.raw_data THEN
    RAISE EXCEPTION 'chain transaction %: its bytes never change', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.status = 'dead' AND NEW.evidence IS NULL THEN
    RAISE EXCEPTION 'chain transaction %: dead without evidence', OLD.id USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END`;
