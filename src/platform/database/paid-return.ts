/**
 * SQL condition that a return was paid, for rows `r` of deposit_return and `d` of its deposit. Only an outflow from the
 * address to its receiver pays it: a failed transaction leaves its fee under the same id. The function
 * project_deposit_returns holds the same text; a test compares them.
 */
export const RETURN_IS_PAID = `EXISTS (SELECT FROM deposit_movement m WHERE m.txid = r.txid AND m.address = d.address
    AND m.asset = d.asset AND m.amount < 0 AND m.kind <> 'fee' AND m.counterparty = r.to_address)`;
