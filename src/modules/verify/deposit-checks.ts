/**
 * Rules of deposits (I14): credits equal payments and go to the project that was paid. Outflows go to our addresses or
 * are returns.
 */
import type { HoldingsReport } from '../../domain/holdings-report.js';
import { RETURN_IS_PAID } from '../../platform/database/paid-return.js';
import { DEPOSIT_OUTFLOWS, OUTFLOW_IDENTITY, UNEXPLAINED_OUTFLOWS } from '../../platform/database/deposit-outflows.js';
import { findingOf, type CheckResult } from './finding.js';
import type { RecordCheck } from './record-check.js';

/**
 * Credits for the sum of amounts times rates, rounded down. Rates have eight digits, and both assets have six decimals.
 */
const WORTH = `div(sum(d.amount * d.rate_e8) * 10000000, 100000000000000)`;

const ENTRY: Omit<RecordCheck, 'text'> = {
  check: 'deposit-credits',
  rule: 'I14',
  says: 'Every credited deposit belongs to one ledger entry of its project, which equals the value of its deposits.',
  stops: 'everything',
};

/** The planner knows the value of `now()`, and so that these rows are few. */
const NEWER_KEYS = `(SELECT entry_key FROM deposit WHERE status = 'credited' AND credits IS NOT NULL
      AND changed_at >= now() - interval '2 days')`;
const NEWER = ` AND d.entry_key IN ${NEWER_KEYS}`;

/** Includes small deposits of a credited sum that have not received its decision yet. */
const entriesOf = (
  OF_DEPOSITS: string,
  OF_SUMS: string,
): string => `SELECT 'deposit ' || min(d.id) AS subject, d.entry_key,
      max(e.credits) AS credits, ${WORTH}::text AS worth
    FROM (SELECT id, project_id, amount, rate_e8, entry_key FROM deposit d WHERE status = 'credited'${OF_DEPOSITS}
      UNION ALL SELECT m.id, m.project_id, m.amount, m.rate_e8, s.entry_key FROM deposit_sum s
        JOIN deposit m ON m.sum_id = s.id AND m.status = 'pending' WHERE s.decision = 'credited' AND NOT s.is_settled${OF_SUMS}) d
      LEFT JOIN credit_entry e ON e.entry_key = d.entry_key AND e.project_id = d.project_id
   GROUP BY d.entry_key, d.project_id HAVING max(e.credits) IS DISTINCT FROM ${WORTH}::bigint`;

/** More than the payments of the five minutes between two passes. */
const NEWEST_MAX = '5000';
const COLUMNS = `d.id, d.project_id, d.address, d.asset, d.contract, d.status, d.reason, d.block_number`;
/**
 * The newest deposits, those that wait for a rate or a person, and those credited in the last two days. Small ones can
 * wait by the million until their sum is credited, so a pass reads older ones only then.
 */
const NEWER_DEPOSITS = `(SELECT ${COLUMNS} FROM (SELECT * FROM deposit ORDER BY id DESC LIMIT ${NEWEST_MAX}) d
        UNION SELECT ${COLUMNS} FROM deposit d
         WHERE d.status = 'held' OR d.status = 'pending' AND d.reason IN ('not_solid', 'no_rate', 'below_peg')
        UNION SELECT ${COLUMNS} FROM deposit d WHERE true${NEWER})`;

const addressCheck = (says: string, DEPOSITS: string): RecordCheck => ({
  check: 'deposit-address',
  rule: 'I14',
  says,
  stops: 'everything',
  text: `SELECT 'deposit ' || d.id AS subject, d.address, a.project_id::text AS of_project, d.project_id::text AS credited_to
      FROM ${DEPOSITS} d LEFT JOIN deposit_address a ON a.address = d.address
     WHERE a.project_id IS DISTINCT FROM d.project_id`,
});

/** A deposit without a contract predates that column and was paid in the first token. */
const tokenCheck = (says: string, DEPOSITS: string): RecordCheck => ({
  check: 'deposit-token',
  rule: 'I14',
  says,
  stops: 'everything',
  text: `SELECT 'deposit ' || d.id AS subject, d.contract, d.block_number::text AS block_number, t.contract AS counting
      FROM ${DEPOSITS} d
      LEFT JOIN deposit_token f ON f.replaces IS NULL
      LEFT JOIN LATERAL (SELECT contract FROM deposit_token WHERE from_block <= d.block_number
                          ORDER BY from_block DESC LIMIT 1) t ON true
     WHERE CASE d.asset WHEN 'USDT' THEN (d.status <> 'pending' OR d.reason <> 'not_solid') AND d.status <> 'dropped'
             AND coalesce(d.contract, f.contract) IS DISTINCT FROM t.contract
           ELSE d.contract IS NOT NULL END`,
});

const SUMS: RecordCheck = {
  check: 'deposit-sums',
  rule: 'I14',
  says: 'Every sum of small deposits equals its deposits, and every deposit in a sum has it.',
  stops: 'everything',
  text: `SELECT 'deposit sum ' || s.id AS subject, s.project_id::text AS of_project, s.amount::text AS amount, s.worth::text AS worth,
      m.amount::text AS deposits_amount, m.worth::text AS deposits_worth
      FROM deposit_sum s CROSS JOIN LATERAL (
        SELECT coalesce(sum(d.amount), 0) AS amount, coalesce(sum(d.amount * d.rate_e8), 0) AS worth FROM deposit d
         WHERE d.sum_id = s.id AND d.status = 'pending') m
     WHERE s.entry_key IS NULL AND (s.amount, s.worth) IS DISTINCT FROM (m.amount, m.worth)
     UNION ALL
     SELECT 'deposit sum ' || d.sum_id, d.project_id::text, NULL, NULL, d.amount::text, NULL
       FROM deposit d LEFT JOIN deposit_sum s ON s.id = d.sum_id AND s.project_id = d.project_id AND s.asset = d.asset
      WHERE d.sum_id IS NOT NULL AND s.id IS NULL`,
};

/** The first address of an account identifies its key. */
const ACCOUNTS: RecordCheck = {
  check: 'deposit-accounts',
  rule: 'I14',
  says: 'Every deposit address belongs to an account, and the first place of an account has its first address.',
  stops: 'everything',
  text: `SELECT 'address ' || a.address AS subject, a.account::text AS account, a.place::text AS place, c.first_address
      FROM deposit_address a LEFT JOIN deposit_account c ON c.account = a.account
     WHERE c.account IS NULL OR (a.place = 0) <> (a.address = c.first_address)`,
};

/** The stored rates at which a deposit `d` could be credited at its time. */
const ITS_RATES = `FROM asset_rate r WHERE r.asset = d.asset AND r.minute >= date_trunc('minute', d.block_at)
      AND r.minute <= greatest(d.changed_at, d.block_at) AND coalesce(r.kept_at, r.minute) <= d.changed_at`;

/** A dollar token counts as one dollar at most. */
const RATES: RecordCheck = {
  check: 'deposit-rates',
  rule: 'I14',
  says: 'Every credited deposit used a stored rate of its minute or later.',
  stops: 'everything',
  text: `SELECT 'deposit ' || d.id AS subject, d.asset, d.rate_e8::text AS rate, d.block_at::text AS block_at
      FROM deposit d
     WHERE d.status = 'credited' AND EXISTS (SELECT ${ITS_RATES})
       AND NOT EXISTS (SELECT ${ITS_RATES}
         AND d.rate_e8 = CASE d.asset WHEN 'USDT' THEN least(r.rate_e8, 100000000) ELSE r.rate_e8 END)`,
};

/** Few rows: an operator makes each by hand. */
const RETURNS: RecordCheck = {
  check: 'deposit-returns',
  rule: 'I14',
  says: 'Every deposit that is being returned has been paid to its recipient, or its transaction can still be included.',
  stops: 'nothing',
  text: `SELECT 'deposit ' || d.id AS subject, d.project_id::text AS of_project, r.to_address, r.txid, r.expires_at
      FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id CROSS JOIN deposit_cursor c
     WHERE c.block_at > r.expires_at AND NOT ${RETURN_IS_PAID}`,
};

const OUTFLOWS: RecordCheck = {
  check: DEPOSIT_OUTFLOWS,
  rule: 'I14',
  says: 'Every transfer from a deposit address goes to another deposit address, to a sweep address, or returns a deposit.',
  stops: 'nothing',
  identity: OUTFLOW_IDENTITY,
  text: UNEXPLAINED_OUTFLOWS,
};

/** Checks over all deposits. */
export const DEPOSIT_CHECKS: readonly RecordCheck[] = [
  { ...ENTRY, text: entriesOf('', '') },
  addressCheck('Every deposit was paid to an address of its project.', 'deposit'),
  tokenCheck('Every USDT deposit was paid in the token that counts in its block.', 'deposit'),
  ACCOUNTS,
  SUMS,
  RATES,
  RETURNS,
  OUTFLOWS,
];

/** Checks over newer deposits, and over all returns and outflows. Their cost does not grow with the history. */
export const NEWER_DEPOSIT_CHECKS: readonly RecordCheck[] = [
  { ...ENTRY, text: entriesOf(NEWER, ` AND s.entry_key IN ${NEWER_KEYS}`) },
  addressCheck('Every newer deposit was paid to an address of its project.', NEWER_DEPOSITS),
  tokenCheck('Every newer USDT deposit was paid in the token that counts in its block.', NEWER_DEPOSITS),
  {
    ...RATES,
    says: 'Every deposit credited in the last two days used a stored rate of its minute or later.',
    text: [RATES.text, NEWER].join(''),
  },
  RETURNS,
  OUTFLOWS,
];

export const DEPOSIT_HOLDINGS = 'deposit-holdings';

/** Renders the audit as a check: payments received must equal holdings plus outflows. */
export function holdingsCheck({ addresses, unexplained }: HoldingsReport, findingsMax: number): CheckResult {
  const findings = unexplained.map(({ address, projectId, asset, onChain, recorded }) =>
    findingOf({
      check: DEPOSIT_HOLDINGS,
      rule: 'I14',
      subject: `${address} ${asset}`,
      facts: { project: projectId, onChain, recorded },
      amount: onChain - recorded,
    }),
  );
  return {
    check: DEPOSIT_HOLDINGS,
    rule: 'I14',
    says: 'The balances of deposit addresses on chain match their recorded receipts and transfers.',
    stops: 'nothing',
    count: findings.length,
    findings: findings.slice(0, findingsMax),
    covered: `${addresses.toString()} addresses`,
  };
}
