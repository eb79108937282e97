/** Rules of decisions on deposits (I14): each deposit's outcome agrees with its events, its acts and the ledger. */
import type { RecordCheck } from './record-check.js';

/** Credits that a return takes off the ledger: the worth of this deposit alone, rounded down. */
const WORTH = `CASE WHEN d.status = 'credited' AND d.credits IS NOT NULL
      THEN div(d.amount * d.rate_e8 * 10000000, 100000000000000) ELSE 0 END`;

const RETURN_CREDITS: RecordCheck = {
  check: 'deposit-return-credits',
  rule: 'I14',
  says: 'Every returned deposit is deducted in the ledger at its full credited value, and goes where an operator’s action sent it.',
  stops: 'everything',
  text: `SELECT 'deposit ' || d.id AS subject, r.entry_key, e.credits, (-(${WORTH}))::text AS should_be
      FROM deposit_return r JOIN deposit d ON d.id = r.deposit_id
      LEFT JOIN credit_entry e ON e.entry_key = r.entry_key AND e.project_id = d.project_id AND e.kind = 'adjustment'
     WHERE coalesce(e.credits, 0) <> -(${WORTH})
        OR r.entry_key <> 'adjustment:deposit-' || d.id || '-returned'
        OR NOT EXISTS (SELECT FROM audit_log a WHERE a.action IN ('deposits.return', 'deposits.return-again')
             AND a.subject = d.id::text AND a.detail ->> 'to' = r.to_address AND a.detail ->> 'txid' = encode(r.txid, 'hex'))`,
};

/** An act's reason is also that of each deposit it ignored, including the small ones of a held sum. */
const IGNORED: RecordCheck = {
  check: 'deposit-ignored',
  rule: 'I14',
  says: 'Every ignored deposit was ignored by an operator.',
  stops: 'everything',
  text: `SELECT 'deposit ' || d.id AS subject, d.asset, d.amount::text AS amount, d.reason, d.changed_at
      FROM deposit d LEFT JOIN (
        SELECT DISTINCT reason FROM audit_log WHERE action = 'deposits.ignore') l ON l.reason = d.reason
     WHERE d.status = 'ignored' AND l.reason IS NULL`,
};

/**
 * A held deposit may still change its status, but nothing else. Events of deposits pending at the head are not
 * compared.
 */
const SAID: RecordCheck = {
  check: 'deposit-said',
  rule: 'I14',
  says: 'A deposit matches its events: credited or ignored permanently, as the same payment to the same project.',
  stops: 'everything',
  identity: ['event'],
  text: `SELECT coalesce('deposit ' || d.id, p.said ->> 'id') AS subject, e.id AS event, e.type, d.status, d.asset, d.amount::text AS amount,
        left(p.said::text, 2000) AS said
      FROM event e CROSS JOIN LATERAL (SELECT (e.payload::jsonb) #> '{data,deposit}' AS said OFFSET 0) p
      LEFT JOIN deposit d ON 'dep_' || d.id = p.said ->> 'id'
     WHERE e.payload IS NOT NULL AND e.type IN ('deposit.held', 'deposit.credited', 'deposit.ignored') AND p.said IS NOT NULL
       AND ((p.said ->> 'txid', p.said ->> 'kind', p.said ->> 'position', p.said ->> 'asset', p.said ->> 'address', p.said ->> 'from_address')
              IS DISTINCT FROM (encode(d.txid, 'hex'), d.kind, d.place::text, d.asset, d.address, d.from_address)
         OR e.project_id IS DISTINCT FROM d.project_id OR (p.said ->> 'amount')::numeric * 1000000 IS DISTINCT FROM d.amount
         OR ((p.said ->> 'block_number'), (p.said ->> 'block_timestamp')::timestamptz)
              IS DISTINCT FROM (d.block_number::text, date_trunc('milliseconds', d.block_at))
         OR e.type = 'deposit.credited' AND (p.said ->> 'credits', (p.said ->> 'usd_rate')::numeric * 100000000)
              IS DISTINCT FROM (d.credits::text, d.rate_e8::numeric)
         OR e.type <> 'deposit.' || (p.said ->> 'status')
         OR e.type <> 'deposit.held' AND e.type <> 'deposit.' || d.status)`,
};

/** Checks over all deposits. */
export const DEPOSIT_ACT_CHECKS: readonly RecordCheck[] = [RETURN_CREDITS, IGNORED, SAID];
