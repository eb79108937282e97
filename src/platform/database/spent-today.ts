/** SQL of daily caps. A row with a cap keeps the credits of the last day on which something was spent. */

export const SPENT_TODAY = `CASE WHEN spent_on >= (clock_timestamp() AT TIME ZONE 'UTC')::date THEN spent_credits ELSE 0 END`;

/** Credits that the cap leaves today; null without a cap. */
export const LEFT_TODAY = `daily_cap_credits - ${SPENT_TODAY}`;
