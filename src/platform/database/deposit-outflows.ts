/** Transfers out of deposit addresses that are neither a sweep nor a return: a record may be lost, or the private key stolen. */
export const DEPOSIT_OUTFLOWS = 'deposit-outflows';

/** The columns that distinguish two outflows of one address. */
export const OUTFLOW_IDENTITY = ['txid', 'kind', 'place'] as const;

/** Transfers out of a deposit address, without fees. */
const LEFT = `amount < 0 AND kind <> 'fee'`;

/**
 * Starts from the distinct receivers of outflows, with one index step for each. Receivers are few, but the sweeps to
 * them are many.
 */
export const UNEXPLAINED_OUTFLOWS = `WITH RECURSIVE receiver (address) AS (
      SELECT min(counterparty) FROM deposit_movement WHERE ${LEFT}
      UNION ALL
      SELECT (SELECT min(counterparty) FROM deposit_movement WHERE ${LEFT} AND counterparty > r.address)
        FROM receiver r WHERE r.address IS NOT NULL),
    outsider AS (SELECT r.address FROM receiver r
      WHERE NOT EXISTS (SELECT FROM deposit_address WHERE address = r.address)
        AND NOT EXISTS (SELECT FROM deposit_sweep_address WHERE address = r.address)),
    outflow AS (SELECT * FROM deposit_movement WHERE ${LEFT})
    SELECT o.address AS subject, o.counterparty AS to_address, o.asset, (-o.amount)::text AS amount,
           encode(o.txid, 'hex') AS txid, o.kind, o.place
      FROM outsider s JOIN outflow o ON o.counterparty = s.address
     WHERE NOT EXISTS (SELECT FROM deposit_return r WHERE r.txid = o.txid AND r.to_address = o.counterparty)`;
