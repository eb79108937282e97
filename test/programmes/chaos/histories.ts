/**
 * Logged for a round with findings: full histories of $1 unfinished orders, or of the newest ones if all are finished.
 */
export const HISTORIES = `SELECT json_build_object('order', to_jsonb(o) - 'request_hash',
      'legs', (SELECT json_agg(l) FROM leg l WHERE l.order_id = o.id),
      'transactions', (SELECT json_agg(to_jsonb(t) - 'raw_data' - 'signature') FROM chain_tx t WHERE t.order_id = o.id),
      'answers', (SELECT json_agg(b) FROM broadcast b JOIN chain_tx t ON t.id = b.chain_tx_id WHERE t.order_id = o.id),
      'events', (SELECT json_agg(e) FROM event e WHERE e.order_id = o.id))::text AS history
    FROM orders o ORDER BY (o.settled AND NOT EXISTS (
      SELECT FROM leg WHERE order_id = o.id AND status NOT IN ('reclaimed', 'released'))), o.id DESC LIMIT $1`;
