/**
 * What a row of the hot tables must be and may become, as one trigger for each table: what the code may not do by
 * mistake, the database refuses. The state tables are those of domain/order-state.ts.
 * Our choice: not CHECK constraints, which Postgres reads from their stored text again for every statement: without the
 * 27 that an order met it took a third less time (one client, no flush: 1 530 and 2 270 /s, on a busy machine). The
 * four of balances and slots stayed.
 */
import { CHAIN_TX_TRANSITIONS, LEG_TRANSITIONS, ORDER_TRANSITIONS } from '../../domain/order-state.js';

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

/** Conditions by the name an error gives them. As in a CHECK, null is not false. */
type Rules = Readonly<Record<string, string>>;

/** Judges all rules as one expression, and looks for the broken one only when there is one. */
function refuseUnsound(table: string, rules: Rules): string {
  const conditions = Object.values(rules).map((rule) => `(${rule})`);
  const names = Object.entries(rules).map(([name, rule]) => `WHEN NOT (${rule}) THEN '${name}'`);
  return `
  IF NOT (${conditions.join('\n    AND ')}) THEN
    RAISE EXCEPTION '${table} %: breaks the rule %', NEW.id, CASE
      ${names.join('\n      ')} END USING ERRCODE = 'check_violation';
  END IF;`;
}

interface Moves {
  readonly transitions: Transitions;
  /** Runs when the status changed by a legal move. */
  readonly onMove: string;
}

interface Steps {
  readonly allowed?: Moves;
  /** Run always: before the rules, and after them. */
  readonly first?: string;
  readonly further?: string;
}

/** The body of a BEFORE INSERT OR UPDATE trigger. */
function guard(table: string, rules: Rules, { allowed, first = '', further = '' }: Steps): string {
  const moves =
    allowed === undefined
      ? ''
      : `
  IF TG_OP = 'UPDATE' AND OLD.status IS DISTINCT FROM NEW.status THEN
    IF (OLD.status, NEW.status) NOT IN (${pairs(allowed.transitions)}) THEN
      RAISE EXCEPTION '${table} %: % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;${allowed.onMove}
  END IF;`;
  return `
BEGIN${first}${refuseUnsound(table, rules)}${moves}${further}
  RETURN NEW;
END`;
}

/**
 * Orders: legal moves only; a settled order stays; a refund needs every leg ended. The end of a settled rental moves by its
 * next extension alone, under a new fence, and only while no reclaim of it is on record. Whose project is a test is a
 * test order, whoever writes it: played by its own time, and never due for fulfilment.
 */
const ORDERS_GUARD = guard(
  'order',
  {
    'a key has 1 to 255 characters': `length(NEW.key) BETWEEN 1 AND 255`,
    'a request hash has 32 bytes': `length(NEW.request_hash) = 32`,
    kind: `NEW.kind IN ('rental', 'activation')`,
    status: `NEW.status IN (${statusList(ORDER_TRANSITIONS)})`,
    'amounts are positive': `NEW.price_sun > 0 AND NEW.credits > 0 AND NEW.trx_usd_e8 > 0`,
    'a rental, and no activation, has energy and a duration': `CASE NEW.kind
      WHEN 'rental' THEN NEW.energy > 0 AND NEW.duration_sec > 0 AND NEW.energy IS NOT NULL AND NEW.duration_sec IS NOT NULL
      ELSE NEW.energy IS NULL AND NEW.duration_sec IS NULL END`,
    'delivered has a time': `NEW.status <> 'delivered' OR NEW.delivered_at IS NOT NULL`,
    'delivered has the energy sold': `NEW.status <> 'delivered' OR NEW.delivered_energy >= NEW.energy`,
    'a test order is played, and no other': `CASE WHEN NEW.test THEN NEW.next_run_at IS NULL ELSE NEW.play_at IS NULL END`,
    'a test order stays one': `CASE TG_OP WHEN 'INSERT' THEN true ELSE NEW.test = OLD.test END`,
  },
  {
    allowed: {
      transitions: ORDER_TRANSITIONS,
      onMove: `
    IF OLD.settled THEN
      RAISE EXCEPTION 'order %: settled, % may not become %', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'refunded' AND EXISTS (
      SELECT FROM open_leg WHERE order_id = NEW.id AND status NOT IN ('released', 'reclaimed')) THEN
      RAISE EXCEPTION 'order %: refunded while a leg may still be delivered', OLD.id USING ERRCODE = 'check_violation';
    END IF;`,
    },
    further: `
  IF TG_OP = 'UPDATE' AND (OLD.extensions <> NEW.extensions OR (OLD.settled AND OLD.ends_at IS DISTINCT FROM NEW.ends_at)) THEN
    IF NOT (OLD.settled AND NEW.settled AND NEW.status = 'delivered' AND NEW.kind = 'rental' AND NOT NEW.undoing
        AND NEW.reclaimed_at IS NULL AND NEW.extensions = OLD.extensions + 1 AND NEW.fence > OLD.fence)
       OR NOT EXISTS (SELECT FROM order_extension x WHERE x.order_id = NEW.id AND x.number = NEW.extensions
            AND x.ends_at = NEW.ends_at AND x.ends_at = OLD.ends_at + x.duration_sec * interval '1 second')
       OR EXISTS (SELECT FROM open_chain_tx t WHERE t.order_id = NEW.id AND t.purpose = 'reclaim') THEN
      RAISE EXCEPTION 'order %: its end moves by an extension of a running rental alone', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;`,
    first: `
  IF TG_OP = 'INSERT' THEN
    NEW.test := coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false);
    IF NEW.test THEN
      NEW.play_at := NEW.next_run_at;
      NEW.next_run_at := NULL;
    END IF;
  END IF;`,
  },
);

/** Of a table whose rows are what an order is fulfilled by. */
const refuseTestOrder = (what: string): string => `
  IF TG_OP = 'INSERT' AND EXISTS (SELECT FROM open_orders o WHERE o.id = NEW.order_id AND o.test) THEN
    RAISE EXCEPTION '${what} of order %: a test order has none', NEW.order_id USING ERRCODE = 'check_violation';
  END IF;`;

/**
 * Legs: legal moves only; released only when none of its transactions can ever be included, reclaimed only by an
 * undelegation: ours in a solid block, or somebody else's, which is named or answered for by a person. A top-up
 * is made only while its rental runs.
 */
const LEG_GUARD = guard(
  'leg',
  {
    kind: `NEW.kind IN ('rental', 'activation')`,
    status: `NEW.status IN (${statusList(LEG_TRANSITIONS)})`,
    'the amount is positive': `NEW.amount_sun > 0`,
    'ended by somebody else has a time, and an act or a reason': `CASE WHEN NEW.closed_at IS NULL
      THEN NEW.closed_by_txid IS NULL AND NEW.closed_reason IS NULL
      ELSE NEW.status = 'reclaimed' AND (coalesce(length(NEW.closed_by_txid) = 32, false) OR NEW.closed_reason IS NOT NULL) END`,
    'a top-up is made of what is reserved, and stays one': `CASE TG_OP
      WHEN 'INSERT' THEN NOT NEW.top_up
      ELSE NEW.top_up = OLD.top_up OR (NEW.top_up AND OLD.status = 'reserved') END`,
    'the cause is a top-up’s, and stays as it is': `CASE WHEN NEW.top_up_cause IS NULL THEN TG_OP = 'INSERT' OR OLD.top_up_cause IS NULL
      ELSE TG_OP = 'UPDATE' AND NEW.top_up AND NEW.top_up_cause IN ('stake', 'usage')
        AND (NEW.top_up_cause = OLD.top_up_cause OR (OLD.top_up_cause IS NULL AND OLD.status = 'reserved' AND NOT OLD.top_up)) END`,
  },
  {
    allowed: {
      transitions: LEG_TRANSITIONS,
      onMove: `
    IF NEW.status = 'released' AND EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND status NOT IN ('dead', 'dropped')) THEN
      RAISE EXCEPTION 'leg %: released while a transaction of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status = 'reclaimed' AND NOT EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status = 'solid') AND (NEW.closed_at IS NULL OR EXISTS (
      SELECT FROM open_chain_tx WHERE leg_id = NEW.id AND purpose = 'reclaim' AND status NOT IN ('dead', 'dropped'))) THEN
      RAISE EXCEPTION 'leg %: ended without an undelegation, or while one of it may live', OLD.id USING ERRCODE = 'check_violation';
    END IF;`,
    },
    further: `
  IF TG_OP = 'UPDATE' AND OLD.top_up IS DISTINCT FROM NEW.top_up THEN
    IF NOT EXISTS (SELECT FROM open_orders WHERE id = NEW.order_id AND status = 'delivered' AND settled AND kind = 'rental'
                     AND reclaimed_at IS NULL) THEN
      RAISE EXCEPTION 'leg %: a top-up of a rental that does not run', OLD.id USING ERRCODE = 'check_violation';
    END IF;
  END IF;${refuseTestOrder('leg')}`,
  },
);

/** Chain transactions: legal moves only, and the bytes never change. */
const CHAIN_TX_GUARD = guard(
  'chain transaction',
  {
    purpose: `NEW.purpose IN ('delegate', 'reclaim', 'activate')`,
    'attempts count from 1': `NEW.attempt >= 1`,
    status: `NEW.status IN (${statusList(CHAIN_TX_TRANSITIONS)})`,
    'the id is the hash of the bytes, which never change': `CASE TG_OP
      WHEN 'INSERT' THEN NEW.txid = sha256(NEW.raw_data)
      ELSE NEW.txid = OLD.txid AND NEW.raw_data = OLD.raw_data END`,
    'a signature has 65 bytes': `length(NEW.signature) = 65`,
    'only what is signed may be sent': `NEW.status IN ('built', 'dropped') OR NEW.signature IS NOT NULL`,
    'included has a block': `NEW.status NOT IN ('included', 'solid')
      OR (NEW.block_number IS NOT NULL AND NEW.block_id IS NOT NULL AND NEW.block_at IS NOT NULL)`,
    'dead has evidence': `NEW.status <> 'dead' OR NEW.evidence IS NOT NULL`,
    'a cost is of what stands in a block, and not negative': `NEW.fee_sun IS NULL OR (NEW.fee_sun >= 0 AND NEW.block_number IS NOT NULL)`,
  },
  {
    allowed: {
      transitions: CHAIN_TX_TRANSITIONS,
      onMove: `
    IF OLD.status IN ('dead', 'dropped') AND NOT EXISTS (SELECT FROM orphan_tx WHERE txid = NEW.txid) THEN
      RAISE EXCEPTION 'chain transaction %: % may not become % unseen on chain', OLD.id, OLD.status, NEW.status USING ERRCODE = 'check_violation';
    END IF;`,
    },
    further: refuseTestOrder('chain transaction'),
  },
);

/**
 * Ledger entries, which are only ever added. Those of test projects have an other side of their own, and no other project's
 * have: play money is no revenue, and nobody paid it in.
 */
const CREDIT_ENTRY_GUARD = guard(
  'ledger entry',
  {
    'the other side': `NEW.contra IN ('revenue', 'funding', 'adjustments', 'test')`,
    kind: `NEW.kind IN ('charge', 'refund', 'topup', 'adjustment', 'compensation')`,
    'the amount is not zero': `NEW.credits <> 0`,
    'sign, other side and order by kind': `CASE NEW.kind
      WHEN 'charge' THEN NEW.credits < 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'refund' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
      WHEN 'compensation' THEN NEW.credits > 0 AND NEW.contra IN ('revenue', 'test') AND NEW.order_id IS NOT NULL
        AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      WHEN 'topup' THEN NEW.credits > 0 AND NEW.contra IN ('funding', 'test') AND NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL
      ELSE NEW.actor IS NOT NULL AND NEW.reason IS NOT NULL END`,
  },
  {
    further: `
  IF TG_OP = 'INSERT' AND (NEW.contra = 'test')
     <> coalesce((SELECT p.test FROM project p WHERE p.id = NEW.project_id), false) THEN
    RAISE EXCEPTION 'ledger entry %: % is not the other side of its project', NEW.id, NEW.contra USING ERRCODE = 'check_violation';
  END IF;`,
  },
);

function statementOf(table: string, body: string): string {
  return ['CREATE OR REPLACE FUNCTION ', table, '_guard() RETURNS trigger LANGUAGE plpgsql AS $$', body, '$$'].join('');
}

/** The statement that makes each table's guard, by the function's name. */
export const ROW_GUARDS = {
  orders_guard: statementOf('orders', ORDERS_GUARD),
  leg_guard: statementOf('leg', LEG_GUARD),
  chain_tx_guard: statementOf('chain_tx', CHAIN_TX_GUARD),
  credit_entry_guard: statementOf('credit_entry', CREDIT_ENTRY_GUARD),
} as const;
