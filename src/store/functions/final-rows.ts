/** What was judged stays judged only while it stays as it was, and what is final is never changed. */

/**
 * An order's row counts as judged only by an update that says so and changes nothing else; any change takes it back.
 * Compared by stored values: its json has no equality.
 */
const ORDERS_JUDGED_SQL = `
CREATE OR REPLACE FUNCTION orders_judged() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF TG_OP = 'INSERT' THEN
       NEW.judged := false;
     ELSE
       OLD.judged := true;
       NEW.judged := OLD *= NEW;
     END IF;
     RETURN NEW;
   END $$`;

const LEG_FINAL_SQL = `
CREATE OR REPLACE FUNCTION leg_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'leg %: ended, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

/** How often bytes were sent is no part of what they came to; what they burnt is learned later, and once. */
const CHAIN_TX_FINAL_SQL = `
CREATE OR REPLACE FUNCTION chain_tx_final() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     -- What was given up and stands in a solid block all the same may become another leg's.
     IF OLD.status <> 'solid' AND NEW.status = 'solid' THEN
       RETURN NEW;
     END IF;
     OLD.sends := NEW.sends;
     OLD.sent_at := NEW.sent_at;
     IF OLD.status = 'solid' AND OLD.fee_sun IS NULL THEN
       OLD.fee_sun := NEW.fee_sun;
     END IF;
     IF OLD IS DISTINCT FROM NEW THEN
       RAISE EXCEPTION 'chain transaction %: final, never changed', OLD.id USING ERRCODE = 'check_violation';
     END IF;
     RETURN NEW;
   END $$`;

export const FINAL_ROWS: Readonly<Record<string, string>> = {
  orders_judged: ORDERS_JUDGED_SQL,
  leg_final: LEG_FINAL_SQL,
  chain_tx_final: CHAIN_TX_FINAL_SQL,
};
