/**
 * Rules of the reasons for entries (I2, I8). An entry's kind matches its contra account. The operator's entries and
 * terms have a recorded act. A day's spending is at least its charges.
 */
import type { RecordCheck } from './record-check.js';

/** Contra account and sign of an entry by kind, as the trigger on its table enforces them. */
const OTHER_SIDE = `CASE WHEN p.test THEN 'test' ELSE
      CASE e.kind WHEN 'topup' THEN 'funding' WHEN 'adjustment' THEN 'adjustments' ELSE 'revenue' END END`;
const SIGN = `CASE e.kind WHEN 'charge' THEN -1 WHEN 'adjustment' THEN sign(e.credits)::integer ELSE 1 END`;

const SHAPE: RecordCheck = {
  check: 'ledger-shape',
  rule: 'I2',
  says: 'Every entry has the sign and contra account of its kind; play money occurs only in test projects.',
  stops: 'everything',
  text: `SELECT 'entry ' || e.id AS subject, e.entry_key, e.kind, e.credits, e.contra,
        ${OTHER_SIDE} || CASE ${SIGN} WHEN 1 THEN ', above 0' WHEN -1 THEN ', below 0' ELSE '' END AS should_be
      FROM credit_entry e JOIN project p ON p.id = e.project_id
     WHERE e.id > $1::bigint AND (e.contra <> ${OTHER_SIDE} OR sign(e.credits) <> ${SIGN}
       OR (e.order_id IS NULL) <> (e.kind IN ('topup', 'adjustment')))`,
  params: () => [0],
};

/** A return's adjustment is judged by `deposit-return-credits`. */
const IS_OF_RETURN = `EXISTS (SELECT FROM deposit_return r WHERE r.entry_key = e.entry_key)`;

/** Acts that book. The entries of a test project's old orders are deleted, and their acts are not. */
const BOOKING_ACTS = `SELECT id, at, actor, reason, split_part(action, '.', 2) || ':' || (detail ->> 'reference') AS entry_key,
          subject AS project, detail ->> 'credits' AS credits
        FROM audit_log WHERE action IN ('credits.topup', 'credits.adjustment')
      UNION ALL
      SELECT id, at, actor, reason, 'compensation:' || subject || ':' || (detail ->> 'number'), detail ->> 'projectId', detail ->> 'credits'
        FROM audit_log WHERE action = 'orders.compensate'`;

/** Acts name the reference or number of their entry. Each table is read once, regardless of the number of entries. */
const ACTS: RecordCheck = {
  check: 'ledger-acts',
  rule: 'I2',
  says: 'Every top-up, adjustment and compensation has an operator’s action of the same amount, author and reason, and every such action its entry.',
  stops: 'everything',
  text: `WITH acts AS (${BOOKING_ACTS})
    SELECT 'entry ' || e.id AS subject, e.entry_key, e.kind, e.credits, e.actor, e.created_at,
        'an act credits.' || e.kind || ' or orders.compensate in the audit log' AS should_be
      FROM credit_entry e LEFT JOIN acts a
        ON a.entry_key = e.entry_key AND a.project = e.project_id::text AND a.credits = e.credits::text
          AND a.actor = e.actor AND a.reason = e.reason
     WHERE e.kind IN ('topup', 'adjustment', 'compensation') AND a.entry_key IS NULL AND e.entry_key NOT LIKE 'deposit:%'
       AND e.entry_key <> 'adjustment:test-carried:' || e.project_id AND NOT ${IS_OF_RETURN}
    UNION ALL
    SELECT 'act ' || a.id, a.entry_key, NULL, NULL, a.actor, a.at, 'an entry of ' || a.credits || ' credits'
      FROM acts a LEFT JOIN credit_entry e ON e.entry_key = a.entry_key AND e.project_id::text = a.project AND e.credits::text = a.credits
      LEFT JOIN project p ON p.id::text = a.project
     WHERE e.id IS NULL AND NOT coalesce(p.test, false)`,
};

const REQUESTS: RecordCheck = {
  check: 'credit-requests',
  rule: 'I2',
  says: 'Exactly the credit requests with an approval by another person are approved, and each is booked with its exact amount.',
  stops: 'everything',
  text: `SELECT 'credit request ' || r.id AS subject, r.kind, r.reference, r.credits AS should_be, e.credits, a.request IS NOT NULL AS has_act
      FROM credit_request r
      LEFT JOIN credit_entry e ON e.entry_key = r.kind || ':' || r.reference AND e.project_id = r.project_id
      LEFT JOIN (SELECT DISTINCT detail ->> 'request' AS request, actor FROM audit_log WHERE action = 'credits.approve') a ON a.request = r.id::text
     WHERE (r.status = 'approved') <> (a.request IS NOT NULL) OR (r.status = 'approved' AND (
             CASE r.kind WHEN 'refusal' THEN NOT EXISTS (SELECT FROM deposit d WHERE d.status = 'ignored' AND d.project_id = r.project_id
               AND encode(d.txid, 'hex') || ':' || d.kind || ':' || d.place = r.reference AND d.txid = decode(left(r.reference, 64), 'hex'))
             ELSE e.credits IS DISTINCT FROM r.credits END OR a.actor IS DISTINCT FROM r.decided_by_email OR a.actor = r.asked_by_email))`,
};

/** Charges by day, for each project, key and auto-delegation, without what was refunded of them. */
const CHARGES = `SELECT c.project_id, coalesce(c.api_key_id, c.project_id) AS key_id, (c.created_at AT TIME ZONE 'UTC')::date AS day,
        c.order_id, c.entry_key, c.contra = 'test' AS is_play, greatest(-c.credits - coalesce(r.credits, 0), 0) AS credits
      FROM credit_entry c LEFT JOIN (
        SELECT order_id, sum(credits) AS credits FROM credit_entry WHERE kind = 'refund' GROUP BY order_id) r ON r.order_id = c.order_id
     WHERE c.kind = 'charge'`;

/**
 * Compares a recorded spending of one day with the charges of that day. A charge on a later day shows that the clock
 * was ahead. The spending of that day then began a new count, so the sums are not compared. If the clock never jumped,
 * the recorded day must be that of the newest charge. Old charges of test projects are deleted.
 */
const spentBy = (subject: string, table: string, id: string, charges: string): string =>
  [
    `SELECT '`,
    subject,
    ` ' || a.id AS subject, a.spent_on::text AS spent_on, a.spent_credits, c.credits AS at_least
      FROM (SELECT `,
    id,
    ` AS id, spent_on, spent_credits FROM `,
    table,
    `) a JOIN (
        SELECT id, day, sum(credits)::bigint AS credits, max(max(day)) OVER (PARTITION BY id) AS last_day, bool_or(is_play) AS is_play
          FROM (`,
    charges,
    `) each GROUP BY id, day) c ON c.id = a.id
     WHERE c.day = a.spent_on AND a.spent_credits < c.credits AND c.last_day <= a.spent_on
        OR c.day = c.last_day AND a.spent_on <> c.last_day AND NOT c.is_play
           AND NOT EXISTS (SELECT FROM clock_mark WHERE jumped_at IS NOT NULL)`,
  ].join('');
const SPENT_BY_PROJECT = spentBy(
  'project',
  'credit_account',
  'project_id',
  `SELECT project_id AS id, day, credits, is_play FROM charges`,
);
const SPENT_BY_KEY = spentBy('key', 'api_key', 'id', `SELECT key_id AS id, day, credits, is_play FROM charges`);
/** A purchase's request id equals its key; a caller's own order under such a key is not a purchase. */
const SPENT_BY_AUTO = spentBy(
  'auto-delegation',
  'auto_delegation',
  'id',
  `SELECT split_part(b.key, '_', 2)::bigint AS id, h.day, h.credits, h.is_play FROM charges h JOIN (
         SELECT 'charge:' || id AS entry_key, key FROM orders WHERE key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' AND request_id = key
         UNION ALL SELECT 'charge:' || order_id || ':ext:' || number, key FROM order_extension
          WHERE key ~ '^auto_[0-9]{1,18}_[0-9]{1,18}$' AND request_id = key) b ON b.entry_key = h.entry_key`,
);

const SPENT: RecordCheck = {
  check: 'spent-credits',
  rule: 'I8',
  says: 'The recorded daily spending of a project, a key or an auto-delegation is at least its charges of that day.',
  stops: 'nothing',
  text: `WITH charges AS (${CHARGES})
    ${SPENT_BY_PROJECT} UNION ALL ${SPENT_BY_KEY} UNION ALL ${SPENT_BY_AUTO}`,
};

/** The newest act that set a term of a project; older accounts have none. */
const newestAct = (actions: string): string =>
  [
    'SELECT DISTINCT ON (subject) subject, action, detail FROM audit_log WHERE action IN (',
    actions,
    ') ORDER BY subject, id DESC',
  ].join('');
const TERMS_ACTS = newestAct(`'credits.account', 'credits.terms'`);
const FREEZE_ACTS = newestAct(`'project.freeze', 'project.unfreeze'`);
const CAP_ACTS = newestAct(`'credits.daily-cap'`);
const THRESHOLD_ACTS = newestAct(`'credits.low-balance'`);

const TERMS: RecordCheck = {
  check: 'account-terms',
  rule: 'I8',
  says: 'The debt limit, freeze, daily cap and balance threshold of a project match the newest operator’s action on each.',
  stops: 'everything',
  text: `SELECT 'project ' || a.project_id AS subject, a.is_postpaid, a.floor_credits, a.frozen, a.daily_cap_credits,
        t.detail -> 'terms' AS terms_should_be, f.action AS last_freeze, c.detail AS cap_should_be,
        a.low_balance_credits, b.detail AS threshold_should_be
      FROM credit_account a
      LEFT JOIN (${TERMS_ACTS}) t ON t.subject = a.project_id::text
      LEFT JOIN (${FREEZE_ACTS}) f ON f.subject = a.project_id::text
      LEFT JOIN (${CAP_ACTS}) c ON c.subject = a.project_id::text
      LEFT JOIN (${THRESHOLD_ACTS}) b ON b.subject = a.project_id::text
     WHERE t.subject IS NOT NULL AND (a.is_postpaid, a.floor_credits) IS DISTINCT FROM (
             t.detail #>> '{terms,kind}' = 'postpaid',
             CASE t.detail #>> '{terms,kind}' WHEN 'postpaid' THEN -(t.detail #>> '{terms,debtLimitCredits}')::bigint ELSE 0 END)
        OR a.frozen <> coalesce(f.action = 'project.freeze', a.frozen)
        OR c.subject IS NOT NULL AND a.daily_cap_credits IS DISTINCT FROM (c.detail ->> 'capCredits')::bigint
        OR b.subject IS NOT NULL AND a.low_balance_credits IS DISTINCT FROM (b.detail ->> 'credits')::bigint`,
};

/**
 * The primary key is excluded, because its next secret reactivates it. A new cap reactivates the key of purchases in
 * the console, so the newest act on a key decides.
 */
const KEYS: RecordCheck = {
  check: 'revoked-keys',
  rule: 'I8',
  says: 'A key revoked by an operator stays revoked.',
  stops: 'everything',
  text: `SELECT 'key ' || k.id AS subject, k.project_id::text AS of_project, l.at AS revoked_by_act_at
      FROM (SELECT DISTINCT ON (detail ->> 'key') detail ->> 'key' AS key, at,
                   action = 'key.revoke' OR detail ->> 'credits' = 'none' AS revokes
              FROM audit_log WHERE action IN ('key.revoke', 'key.console_cap') ORDER BY detail ->> 'key', id DESC) l
      JOIN api_key k ON k.id::text = l.key
     WHERE l.revokes AND k.revoked_at IS NULL AND k.id <> k.project_id`,
};

/** The newest act that gave a key this option. */
const optionOf = (name: string): string =>
  [
    `(SELECT DISTINCT ON (detail ->> 'key') detail ->> 'key' AS key, detail -> '`,
    name,
    `' AS value FROM audit_log WHERE action IN ('key.create', 'key.options') AND detail ? '`,
    name,
    `' ORDER BY detail ->> 'key', id DESC)`,
  ].join('');
const SCOPES_GIVEN = optionOf('scopes');
const SOURCES_GIVEN = optionOf('allowedSources');
const CAP_GIVEN = optionOf('dailyCapCredits');
const sameSet = (column: string, value: string): string =>
  [
    `(SELECT array_agg(v ORDER BY v) FROM unnest(`,
    column,
    `) v) IS NOT DISTINCT FROM
          (SELECT array_agg(v ORDER BY v) FROM jsonb_array_elements_text(`,
    value,
    `) v)`,
  ].join('');
const SAME_SCOPES = sameSet('k.scopes', 's.value');
const SAME_SOURCES = sameSet('k.allowed_sources', 'f.value');

const KEY_ACTS: RecordCheck = {
  check: 'key-acts',
  rule: 'I8',
  says: 'Every key of an operator’s action is a key of that project, with the scopes, sources and daily cap that were set last.',
  stops: 'everything',
  text: `SELECT 'key ' || l.key AS subject, l.project AS of_project, k.scopes::text AS scopes, s.value AS scopes_should_be,
        k.allowed_sources::text AS allowed_sources, f.value AS sources_should_be, k.daily_cap_credits, c.value AS cap_should_be
      FROM (SELECT DISTINCT detail ->> 'key' AS key, subject AS project FROM audit_log
             WHERE action IN ('key.create', 'key.options', 'key.rotate', 'key.revoke')) l
      LEFT JOIN api_key k ON k.id::text = l.key AND k.project_id::text = l.project
      LEFT JOIN ${SCOPES_GIVEN} s ON s.key = l.key
      LEFT JOIN ${SOURCES_GIVEN} f ON f.key = l.key
      LEFT JOIN ${CAP_GIVEN} c ON c.key = l.key
     WHERE k.id IS NULL OR (s.key IS NOT NULL AND NOT ${SAME_SCOPES}) OR (f.key IS NOT NULL AND NOT ${SAME_SOURCES})
        OR (c.key IS NOT NULL AND k.daily_cap_credits IS DISTINCT FROM (c.value #>> '{}')::bigint)`,
};

/** The newest act that set this requirement on a project's requests. */
const requirementOf = (name: string): string =>
  [
    `(SELECT DISTINCT ON (subject) subject, detail -> '`,
    name,
    `' AS value FROM audit_log WHERE action = 'project.options' AND detail ? '`,
    name,
    `' ORDER BY subject, id DESC)`,
  ].join('');

const SOURCES_SET = requirementOf('allowedSources');
const SIGNATURES_SET = requirementOf('signatureSchemes');
const QUOTE_SET = requirementOf('requireQuote');
const KEY_SET = requirementOf('requireIdempotencyKey');

const REQUIREMENTS: RecordCheck = {
  check: 'project-acts',
  rule: 'I8',
  says: 'A project accepts requests from the sources, with the signatures and under the conditions that an operator set last.',
  stops: 'everything',
  text: `SELECT 'project ' || p.id AS subject, p.allowed_sources::text AS allowed_sources, f.value AS sources_should_be,
        p.signature_schemes, s.value AS signatures_should_be, p.require_quote, q.value AS quote_should_be,
        p.require_idempotency_key, k.value AS key_should_be
      FROM project p
      LEFT JOIN ${SOURCES_SET} f ON f.subject = p.id::text
      LEFT JOIN ${SIGNATURES_SET} s ON s.subject = p.id::text
      LEFT JOIN ${QUOTE_SET} q ON q.subject = p.id::text
      LEFT JOIN ${KEY_SET} k ON k.subject = p.id::text
     WHERE f.value <> to_jsonb(p.allowed_sources) OR s.value <> to_jsonb(p.signature_schemes)
        OR q.value <> to_jsonb(p.require_quote) OR k.value <> to_jsonb(p.require_idempotency_key)`,
};

/** Checks over the whole ledger. */
export const LEDGER_ACT_CHECKS: readonly RecordCheck[] = [
  ...[SHAPE, ACTS, REQUESTS, SPENT, TERMS],
  ...[KEYS, KEY_ACTS, REQUIREMENTS],
];

/** The shape check over the entries after `after`. */
export const newerLedgerShape = (after: bigint): RecordCheck => ({ ...SHAPE, params: () => [after] });
