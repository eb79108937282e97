-- Returns why a purchase in a console must not be made at these figures, or null. A console computes prices itself, but
-- serves browsers, so its figures are compared with the records: the price with the price table, the credits with the
-- rate, and the rate with the last stored one, which may be read a moment later.
-- p_key: the project's key for consoles. Without a cap on it, nothing may be bought.
-- p_bandwidth: units beside the energy, or null. Each has its own shortest row that covers the duration.
-- p_activation: the part of the price that is for an activation, or null. It covers at least the chain's fee.
CREATE OR REPLACE FUNCTION console_purchase_fault(
  p_key uuid, p_energy bigint, p_bandwidth bigint, p_activation bigint, p_duration integer, p_price bigint, p_credits bigint, p_rate bigint
) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN NOT EXISTS (SELECT FROM api_key k
                      WHERE k.id = p_key AND k.revoked_at IS NULL AND k.daily_cap_credits IS NOT NULL)
      THEN 'SPEND_CAP_REACHED'
    WHEN NOT coalesce(p_price - coalesce(p_activation, 0) >= p_energy * (SELECT r.sun_per_energy FROM price_row r
                                              WHERE r.duration_max_sec >= p_duration
                                              ORDER BY r.duration_max_sec LIMIT 1)
      + CASE WHEN p_bandwidth IS NULL THEN 0 ELSE p_bandwidth * (SELECT r.sun_per_bandwidth FROM price_row r
          WHERE r.duration_max_sec >= p_duration AND r.sun_per_bandwidth IS NOT NULL
          ORDER BY r.duration_max_sec LIMIT 1) END, false)
      OR p_activation IS NOT NULL AND NOT coalesce(p_activation >= (
        SELECT (s.value ->> 'createAccountFeeSun')::numeric FROM market_state s WHERE s.name = 'chain'), false)
      -- A dollar is 10^7 credits, p_price is in 10^-6 TRX, p_rate in 10^-8 USD.
      OR p_credits < p_price::numeric * p_rate / 10000000
      OR EXISTS (SELECT FROM market_state s
                  WHERE s.name = 'trx-usd' AND s.measured_at > clock_timestamp() - interval '1 hour'
                    AND p_rate < (s.value ->> 'rate')::numeric * 50000000)
      THEN 'QUOTE_EXPIRED' END
$$;

REVOKE EXECUTE ON FUNCTION console_purchase_fault FROM PUBLIC;
