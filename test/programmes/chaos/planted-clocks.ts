// Planted bugs in the effects of a wrong database clock: on leases, deletions, disabling, closing and prices.
import { one, SCHEDULE, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const LEASE_SQL = 'platform/database/lease-sql.ts';
const CONFIRMED = 'platform/database/confirmed-clock.ts';
const WATCH = 'modules/fulfilment/loop/clock-watch.ts';
const RATES = 'modules/deposits/rate-history.ts';

const leases = (title: string): NamedTest => ({ file: 'integration/database/clock-leases.test.ts', title });
const jumps = (title: string): NamedTest => ({ file: 'integration/database/clock-jumps.test.ts', title });
const deposits = (title: string): NamedTest => ({ file: 'integration/deposits/deposits-clock.test.ts', title });
const retention = (title: string): NamedTest => ({ file: 'integration/database/clock-retention.test.ts', title });
const waits = (title: string): NamedTest => ({ file: 'integration/database/clock-waits.test.ts', title });
const money = (title: string): NamedTest => ({ file: 'integration/billing/money-edges.test.ts', title });
const END_LATER_TIMES = 'await tx.query(END_LATER_TIMES, [setBackSec + (sinceMs ?? 0) / 1000]);';
const CHARGED_ON: NamedTest = {
  file: 'integration/orders/capacity.test.ts',
  title: 'is the day on which the charge got the balance’s lock, not the day before its wait',
};
const EARLY = jumps('destroys nothing in a process that ran before');
const TOGETHER = jumps('destroys nothing if the machine’s own clock jumped with it, before or after the process began');
const BACK = jumps(
  'work postponed by a clock an hour ahead is due once it is set back, and a later day’s spending counts today',
);

/** Trusts the database's time without confirmation. */
const trusting = (file: string, database: string): PlantedBug['changes'] =>
  one(file, `const now = await confirmedNow(${database});`, 'const now = new Date(Date.now() + 32 * 86_400_000);');

export const PLANTED_CLOCKS: readonly PlantedBug[] = [
  {
    name: 'a rental that a dead worker held when the clock was set back waits as long as the clock was ahead',
    changes: one(
      SCHEDULE,
      `OR NOT (settled OR undoing)
           OR lease_until NOT BETWEEN clock_timestamp() AND`,
      `OR NOT (settled OR undoing)
           OR lease_until >`,
    ),
    test: leases('is now although a dead worker leased the order'),
  },
  {
    name: 'a lease that a later clock wrote is kept to its end',
    changes: one(LEASE_SQL, ' OR ${isFromLaterClock(lease, lengthSec, now)})`', ')`'),
    test: leases('of the deposit cursor passes the turn to another worker'),
  },
  {
    name: 'a due time that a later clock wrote is waited for',
    changes: one(LEASE_SQL, ' OR ${isFromLaterClock(at, longestSec, now)})`', ')`'),
    test: leases('of a notification is now, and mails of a later hour take no place in the present one'),
  },
  {
    name: 'the rest of top-ups that a later clock wrote is waited for',
    changes: one(
      'modules/order-records/order-leases.ts',
      "${isDue('top_up_after', TOP_UP_REST_MAX_SEC, 'statement_timestamp()')}",
      'top_up_after <= statement_timestamp()',
    ),
    test: leases('of the top-ups of a rental is now'),
  },
  {
    name: 'the hold of a wallet that a later clock wrote is waited for',
    changes: one(
      'modules/fulfilment/send/wallet-health.ts',
      "isDue('delivery_held_until', HOLD_MAX_SEC)",
      "'delivery_held_until <= clock_timestamp()'",
    ),
    test: {
      file: 'long/fulfilment/clock-set-back.test.ts',
      title: 'holds no wallet for longer than the longest hold, even if no worker saw the later clock',
    },
  },
  {
    name: 'an order being undone is waited for although a later clock leased it',
    changes: one(
      SCHEDULE,
      `\n           OR lease_until NOT BETWEEN clock_timestamp() AND clock_timestamp() + $1 * interval '1 second')`,
      ')',
    ),
    test: leases('of an order makes it due although no worker saw the later clock'),
  },
  {
    name: 'an unsent order is refunded by a clock that jumped',
    changes: one(
      'modules/fulfilment/loop/order-claims.ts',
      "steadyAgeSec('l.changed_at')",
      "'extract(epoch FROM clock_timestamp() - l.changed_at)::float8'",
    ),
    test: waits('refunds no order that waits unsent, before and after a worker has seen the step'),
  },
  {
    name: 'a sent transaction counts as overdue by a clock that jumped',
    changes: one(
      'modules/fulfilment/loop/order-claims.ts',
      "steadyAgeSec('t.created_at')",
      "'extract(epoch FROM clock_timestamp() - t.created_at)::float8'",
    ),
    test: waits('shows no order as unresolved whose transaction was sent just before'),
  },
  {
    name: 'a jump that no worker has recorded yet counts as waiting',
    changes: one(CONFIRMED, 'ELSE coalesce(c.followed_at, clock_timestamp()) END', 'ELSE clock_timestamp() END'),
    test: waits('refunds no order that waits unsent, before and after a worker has seen the step'),
  },
  {
    name: 'an unsent order of a later clock waits until that time',
    changes: one(WATCH, 'await restartLegWaits(tx);', ''),
    test: waits('an unsent order of a clock that was ahead is refunded after its limit, not after the step'),
  },
  {
    name: 'a webhook is disabled for the time that a clock skipped',
    changes: one(CONFIRMED, 'return `greatest(${column}, (SELECT jumped_at FROM clock_mark))`;', 'return column;'),
    test: waits('a webhook that has failed for minutes is not disabled by a clock that stays a month ahead'),
  },
  {
    name: 'a mail is given up by a clock that jumped',
    changes: one(
      'modules/notifications/mail-claims.ts',
      "steadyAgeSec('n.failing_since')",
      "'extract(epoch FROM clock_timestamp() - n.failing_since)::float8'",
    ),
    test: waits('a mail that has failed for minutes has failed no longer by a clock a day ahead'),
  },
  {
    name: 'an unrecorded delegation is reclaimed by a clock that jumped',
    changes: one(
      'modules/reconciliation/orphan-reclaims.ts',
      "steadyAgeSec('o.seen_at')",
      "'extract(epoch FROM clock_timestamp() - o.seen_at)'",
    ),
    test: waits('an unrecorded delegation keeps its grace time'),
  },
  {
    name: 'orders postponed by the clock of a lost server wait for that time',
    changes: one(
      'modules/fulfilment/loop/startup-gate.ts',
      'await wakePostponedOrders(tx, Math.max(this.config.worker.leaseSec, RECOVERY_HOLD_SEC) + 1);',
      '',
    ),
    test: leases('orders postponed by the clock of another server are due after the search'),
  },
  {
    name: 'orders that the search for lost commits holds are woken with the others',
    changes: one(
      'modules/fulfilment/loop/startup-gate.ts',
      'Math.max(this.config.worker.leaseSec, RECOVERY_HOLD_SEC)',
      'this.config.worker.leaseSec',
    ),
    test: leases('orders postponed by the clock of another server are due after the search'),
  },
  {
    name: 'a lease of a shared reading is believed whatever its length',
    changes: one(
      'platform/database/shared-reading.ts',
      'leaseMs > 0 && leaseMs <= this.leaseMs + FUTURE_MS_MAX',
      'leaseMs > 0',
    ),
    test: leases('of a shared reading does not keep other processes from reading'),
  },
  {
    name: 'the turn of a webhook’s host is waited for however far it is',
    changes: one(
      'modules/sender/destination-slots.ts',
      "isFromLaterClock('d.free_at', 1, NOW)",
      "isFromLaterClock('d.free_at', 86_400, NOW)",
    ),
    test: leases('of a webhook’s host is now'),
  },
  {
    name: 'mails of a later clock take the places of this hour',
    changes: one('modules/notifications/mail-claims.ts', ' AND NOT ${IS_FROM_LATER_CLOCK} ORDER BY t)', ' ORDER BY t)'),
    test: leases('of a notification is now, and mails of a later hour take no place in the present one'),
  },
  {
    name: 'a clock that differs from the machine’s is trusted',
    changes: one(
      CONFIRMED,
      "> DIFFERENCE_MAX_MS) return 'differs from this machine';",
      "> Number.MAX_VALUE) return 'differs from this machine';",
    ),
    test: jumps('destroys nothing in a process that starts after the jump'),
  },
  {
    name: 'a process does not see the clock jump',
    changes: one(
      CONFIRMED,
      'return Math.abs(afterMs - beforeMs - elapsedMs) > JUMP_MIN_MS;',
      'return afterMs - beforeMs === elapsedMs + 0.5;',
    ),
    test: TOGETHER,
  },
  {
    name: 'no jump of the clock is recorded',
    changes: one(WATCH, 'THEN clock_timestamp() ELSE c.jumped_at END', 'THEN c.jumped_at ELSE c.jumped_at END'),
    test: TOGETHER,
  },
  {
    name: 'what a later clock put off stays put off',
    changes: one(WATCH, END_LATER_TIMES, ''),
    test: BACK,
  },
  {
    name: 'work of the later clock waits for the time since its last reading',
    changes: one(WATCH, '[setBackSec + (sinceMs ?? 0) / 1000]', '[setBackSec]'),
    test: BACK,
  },
  {
    name: 'a refund looks for its charge on the day of the order',
    changes: one(SCHEMA, '          p_api_key, v_charged_at);', '          p_api_key, v_now);'),
    test: CHARGED_ON,
  },
  {
    name: 'the cap of a key counts a charge on the day before it waited',
    changes: one(
      SCHEMA,
      "IF v_charged_on > (v_now AT TIME ZONE 'UTC')::date THEN",
      "IF v_charged_on > ((v_now + interval '9 days') AT TIME ZONE 'UTC')::date THEN",
    ),
    test: CHARGED_ON,
  },
  {
    name: 'what was spent on a later day counts for every day until then',
    changes: one(
      SCHEMA,
      'UPDATE credit_account a SET spent_on = v_today\n',
      'UPDATE credit_account a SET spent_on = a.spent_on\n',
    ),
    test: BACK,
  },
  {
    name: 'events end by a clock that jumped',
    changes: trusting('modules/events/retention.ts', 'database'),
    test: EARLY,
  },
  {
    name: 'nonces are deleted by a clock that jumped',
    changes: trusting('modules/auth/nonce-retention.ts', 'database'),
    test: EARLY,
  },
  {
    name: 'refused requests are deleted by a clock that jumped',
    changes: trusting('modules/requests/retention.ts', 'database'),
    test: EARLY,
  },
  {
    name: 'endpoints are disabled by a clock that jumped',
    changes: trusting('modules/sender/endpoint-watch.ts', 'this.database'),
    test: EARLY,
  },
  {
    name: 'a month is closed by a clock that jumped',
    changes: trusting('modules/statements/statement-closing.ts', 'this.database'),
    test: EARLY,
  },
  {
    name: 'sessions are deleted by a clock that jumped',
    changes: [
      ...one('modules/people/sessions.ts', 'if ((await confirmedNow(this.database)) !== undefined) await', 'await'),
      ...one('modules/people/sessions.ts', ' AND ${CLOCK_IS_STEADY} LIMIT', ' LIMIT'),
    ],
    test: EARLY,
  },
  {
    name: 'guesses are forgotten by a clock that jumped',
    changes: [
      ...one('modules/people/guesses.ts', 'if ((await confirmedNow(this.database)) === undefined) return false;', ''),
      ...one('modules/people/guesses.ts', ' AND ${CLOCK_IS_STEADY}\n', '\n'),
    ],
    test: EARLY,
  },
  {
    name: 'a rate of a later minute prices a deposit',
    changes: one(
      RATES,
      'AND r.minute <= greatest(${KNOWN_BY}, $2::timestamptz) AND r.rate_e8 >= $3',
      'AND r.rate_e8 >= $3',
    ),
    test: deposits('is not credited at the rate of a future minute, neither a new one nor a waiting one'),
  },
  {
    name: 'a rate is kept for a minute of a clock that jumped',
    changes: one(RATES, '$2 WHERE ${IS_FOLLOWED} ON CONFLICT', '$2 ON CONFLICT'),
    test: deposits('keeps no rate by a clock that has run ahead of the workers'),
  },
  {
    name: 'a clock that was wrong for a moment gives a daily cap twice',
    changes: one(WATCH, '() => this.database.query(RECOUNT, [project])', '() => Promise.resolve(project)'),
    test: money('for a moment does not give caps twice'),
  },
  {
    name: 'later times are ended apart from the mark that the clock went back',
    changes: one(
      WATCH,
      END_LATER_TIMES,
      `void this.database.query(${END_LATER_TIMES.slice('await tx.query('.length, -2)}).catch(() => 0);`,
    ),
    test: money('counts once the correction of later times succeeds, although the first one failed'),
  },
  {
    name: 'a project whose rows are held keeps others from being counted again',
    changes: one(
      WATCH,
      'await runEach(row.projects.map((project) => () => this.database.query(RECOUNT, [project])));',
      'for (const project of row.projects) await this.database.query(RECOUNT, [project]);',
    ),
    test: money('counts for every project, although another session holds the balance of one'),
  },
  {
    name: 'a day of many charges is counted under the locks of its purchases',
    changes: one(
      SCHEMA,
      'BEGIN\n  SELECT json_agg(c) INTO v_counted',
      'BEGIN\n  PERFORM FROM api_key k WHERE k.project_id = p_project FOR NO KEY UPDATE;\n  SELECT json_agg(c) INTO v_counted',
    ),
    test: money('is counted from a day of many charges without making purchases wait'),
  },
  {
    name: 'a check of the clock that failed counts as a reading',
    changes: one(
      WATCH,
      'const sinceMs = this.checkedAtMs === undefined ? undefined : atMs - this.checkedAtMs;',
      'const sinceMs = this.checkedAtMs === undefined ? undefined : atMs - this.checkedAtMs; this.checkedAtMs = atMs;',
    ),
    test: jumps('an outage of the database is no jump of its clock'),
  },
  {
    name: 'deliveries that a later clock dated keep those after them',
    changes: one(
      'platform/database/retention-sql.ts',
      'WHERE ${TIME} <= $3::timestamptz ORDER BY id LIMIT $2',
      'ORDER BY id LIMIT $2',
    ),
    test: retention('deliveries dated by a clock a year ahead keep no older ones'),
  },
  {
    name: 'orders that a later clock dated keep those after them from the archive',
    changes: one(SCHEMA, 'FILTER (WHERE n.is_old OR n.is_ahead)', 'FILTER (WHERE n.is_old)'),
    test: {
      file: 'integration/orders/archive.test.ts',
      title: 'and does not keep later ones while it is dated ahead by a clock of that time',
    },
  },
  {
    name: 'deposits that a later clock credited count towards the limit of each day until then',
    changes: one(
      'modules/deposits/deposit-sql.ts',
      "\n      AND d.changed_at < (SELECT (${TODAY} + interval '1 day') AT TIME ZONE 'UTC')",
      '',
    ),
    test: deposits('is credited by one node although others were credited by a clock a year ahead'),
  },
  {
    name: 'an event that a later clock dated keeps those after it',
    changes: one(
      'modules/events/retention.ts',
      'CASE WHEN b.at <= $3::timestamptz THEN b.at',
      'CASE WHEN true THEN b.at',
    ),
    test: retention('events dated by a clock a year ahead are deleted with those after them'),
  },
];
