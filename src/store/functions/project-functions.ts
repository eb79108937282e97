/**
 * What a project is shown of tables that a merchants' console does not read, with the owner's rights and by the setting
 * that row-level security asks for.
 */
import { RETURN_IS_PAID } from './deposit-functions.js';
import { compensationsOf, legsOf } from './event-writers.js';

const LEGS = legsOf('o');
const COMPENSATIONS = compensationsOf('o');

/** The delegations of one order as its project is answered them: whose stake they use is in the pool's rows. */
const PROJECT_ORDER_LEGS_SQL = `
CREATE OR REPLACE FUNCTION project_order_legs(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT ${LEGS}
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`;

/** What was given back for one order, with the reason that its project is told. */
const PROJECT_ORDER_COMPENSATIONS_SQL = `
CREATE OR REPLACE FUNCTION project_order_compensations(p_order bigint) RETURNS json
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT ${COMPENSATIONS}
    FROM orders o
   WHERE o.id = p_order AND o.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`;

/** What was done to the project, and who looked at it, newest first; the rest of the log is the service's. */
const PROJECT_ACTS_SQL = `
CREATE OR REPLACE FUNCTION project_acts(p_before bigint, p_limit integer)
  RETURNS TABLE (id bigint, at timestamptz, actor text, action text, reason text, detail jsonb)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.at, l.actor, l.action, l.reason, l.detail FROM audit_log l
   WHERE l.subject = nullif(current_setting('energy.project', true), '') AND l.id < p_before
   ORDER BY l.id DESC LIMIT least(p_limit, 101)
$$`;

/** Which of these deposits of the project are given back, and whether they were paid: what left an address is the service's to read. */
const PROJECT_DEPOSIT_RETURNS_SQL = `
CREATE OR REPLACE FUNCTION project_deposit_returns(p_deposits bigint[]) RETURNS TABLE (deposit_id bigint, is_paid boolean)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT r.deposit_id, ${RETURN_IS_PAID}
    FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
   WHERE r.deposit_id = ANY (p_deposits) AND d.project_id = nullif(current_setting('energy.project', true), '')::uuid
$$`;

export const PROJECT_FUNCTIONS: Readonly<Record<string, string>> = {
  project_acts: PROJECT_ACTS_SQL,
  project_deposit_returns: PROJECT_DEPOSIT_RETURNS_SQL,
  project_order_compensations: PROJECT_ORDER_COMPENSATIONS_SQL,
  project_order_legs: PROJECT_ORDER_LEGS_SQL,
};
