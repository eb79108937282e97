// Planted bugs in webhooks: judging answers, order of attempts, and limits on a project's requests.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const attempt = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-attempt.test.ts', title });

const failing = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-failing.test.ts', title });
const waiting = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-waiting.test.ts', title });
const acts = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-bounds.test.ts', title });
const beside = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-beside.test.ts', title });
const together = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-together.test.ts', title });
const CLAIMS = 'modules/sender/delivery-claims.ts';
const RECORDS = 'modules/sender/delivery-records.ts';
const SLOTS = 'modules/sender/destination-slots.ts';
const WEBHOOKS = 'modules/webhooks/webhooks.ts';

export const PLANTED_WEBHOOKS: readonly PlantedBug[] = [
  {
    name: 'a second rotation of a webhook ends the overlap of the first',
    changes: one(WEBHOOKS, 'if (running === undefined) return;', 'if (running !== null) return;'),
    test: acts('refuses another rotation with an overlap while one runs, and ends both secrets without one'),
  },
  {
    name: 'a fault behind the status line undoes a success',
    changes: one(
      'modules/sender/attempt.ts',
      '...judge(reader.answer, error.fault), durationMs',
      '...judge(undefined, error.fault), durationMs',
    ),
    test: attempt('a 2xx status line is a success, whatever follows it'),
  },
  {
    name: 'a webhook’s receiver may send headers without end',
    changes: one(
      'modules/sender/answer-reader.ts',
      'if (this.headBytes > HEAD_BYTES_MAX) this.isDone = true;',
      'if (false);',
    ),
    test: attempt('stops reading headers after 256 KB, and keeps the status line'),
  },
  {
    name: 'lines of an answer end with CR and LF alone',
    changes: one(
      'modules/sender/answer-reader.ts',
      'const end = bytes.indexOf(0x0a);',
      `const crlf = bytes.indexOf('\\r\\n'); const end = crlf < 0 ? -1 : crlf + 1;`,
    ),
    test: attempt('a 2xx status line is a success, whatever follows it'),
  },
  {
    name: 'a refusal slows its endpoint down',
    changes: one(
      'modules/sender/schedule.ts',
      `!SLOWING_STATUSES.includes(status) ? 'refused' : 'slowing'`,
      `status === 0 ? 'refused' : 'slowing'`,
    ),
    test: failing('leave the next events at full speed'),
  },
  {
    name: 'a receiver that asks for less is sent as much as before',
    changes: one(
      'modules/sender/schedule.ts',
      'const SLOWING_STATUSES: readonly number[] = [408, 425, 429];',
      'const SLOWING_STATUSES: readonly number[] = [0];',
    ),
    test: failing('slows its endpoint down'),
  },
  {
    name: 'an endpoint that is slowed down is tried with its retries first',
    changes: one(CLAIMS, 'ORDER BY (v.is_failing AND d.attempts > 0),', 'ORDER BY (v.is_failing AND d.attempts = 0),'),
    test: waiting('probes a slowed-down endpoint with an untried event, otherwise with the longest overdue retry'),
  },
  {
    name: 'a new event waits for a slow answer of its endpoint',
    changes: one('modules/sender/endpoint-sender.ts', 'this.needsRead = true;', ''),
    test: beside('a new event is sent beside a slow answer of its endpoint'),
  },
  {
    name: 'the release of a slowed endpoint forgets an event that another sender saw',
    changes: one(CLAIMS, `least(s.due_at, s.lease_until - interval '1 microsecond',`, 'least(s.due_at,'),
    test: beside('an event that another sender sees during the release of its slowed endpoint is due after the rest'),
  },
  {
    name: 'a resend rests with its endpoint',
    changes: one(
      CLAIMS,
      `CASE WHEN b.is_requested THEN interval '0' ELSE`,
      `CASE WHEN b.is_requested AND false THEN interval '0' ELSE`,
    ),
    test: failing('a resend goes to a slowed-down endpoint without its rest, and alone'),
  },
  {
    name: 'an endpoint that takes all but one type is disabled for that one',
    changes: one(RECORDS, 'WHERE s.taken_at IS NULL OR r.since::timestamptz >= s.taken_at) END', ') END'),
    test: failing('an endpoint that always refuses one type while it accepts another does not fail'),
  },
  {
    name: 'an endpoint that refuses everything never fails',
    changes: one(RECORDS, "WHEN 'refused' THEN ${REFUSING_SINCE}", `WHEN 'refused' THEN NULL`),
    test: failing('disables an endpoint that refuses everything for five days: it'),
  },
  {
    name: 'accepted deliveries are recorded without the fence of their endpoint',
    changes: one(
      RECORDS,
      'AND s.fence = t.fence RETURNING s.endpoint_id, s.fence)',
      'RETURNING s.endpoint_id, t.fence)',
    ),
    test: together('are left to the sender that holds their endpoint by now'),
  },
  {
    name: 'one delivery that cannot be recorded takes those along that end with it',
    changes: one(RECORDS, 'if (attempted.length === 1 || isDatabaseAway(error)) throw error;', 'throw error;'),
    test: together('are recorded each alone if one of them cannot be'),
  },
  {
    name: 'a host gets more requests at once than it takes in a second',
    changes: one(SLOTS, 'least(slots, ceil(', 'greatest(slots, ceil('),
    test: together('are reserved only if they begin within the second'),
  },
  {
    name: 'two senders begin with a host at the same time',
    changes: one(SLOTS, 'ELSE greatest(excluded.free_at, d.free_at', 'ELSE least(excluded.free_at, d.free_at'),
    test: together('follow those that another sender takes at the same time'),
  },
  {
    name: 'webhooks are changed as often as one likes',
    changes: one(
      'modules/webhooks/webhook-acts.ts',
      'if (left > 0) return left;',
      'if (left > -Infinity) return left;',
    ),
    test: acts(
      'webhooks of a project accept at most a hundred changes in 24 hours, and can be disabled and deleted after them',
    ),
  },
  {
    name: 'every change of a webhook is an event at once',
    changes: one('modules/webhooks/webhook-acts.ts', '<= REPORTED_PER_MINUTE', '>= 0'),
    test: acts('changes in quick succession are a few events, and the last one shows the final state'),
  },
  {
    name: 'changes in quick succession are lost to the log',
    changes: one('modules/sender/endpoint-watch.ts', '[SAY_CHANGED, FORGET_FAILING,', '[FORGET_FAILING,'),
    test: acts('changes in quick succession are a few events, and the last one shows the final state'),
  },
  {
    name: 'an act of a clock that was ahead bars those of the present',
    changes: one('modules/webhooks/webhook-acts.ts', ' AND NOT ${isFromLaterClock(at, 0)}', ''),
    test: acts('a replay, by a webhook that was deleted then'),
  },
  {
    name: 'null is the default of a number',
    changes: one('platform/http/body/member-rules.ts', `if (isNumber) NUMBERS.set(`, `if (false) NUMBERS.set(`),
    test: { file: 'integration/quotes/quotes.test.ts', title: 'which a caller’s NaN becomes in JSON' },
  },
  {
    name: 'failures that begin a moment after others ended are not reported',
    changes: one(
      'modules/sender/endpoint-watch.ts',
      '(s.failing_since IS NULL OR s.failing_since > e.failing_told_at)',
      's.failing_since IS NULL',
    ),
    test: failing('has no failures, and its next ones are reported, however soon they begin'),
  },
  {
    name: 'an endpoint that moved keeps the failures of its earlier URL',
    changes: one(WEBHOOKS, 'if (options.isEnabled === true || isMoved) await', 'if (options.isEnabled === true) await'),
    test: failing('has no failures, and its next ones are reported, however soon they begin'),
  },
  {
    name: 'an owner disables no webhook that the service has disabled',
    changes: one(
      WEBHOOKS,
      "(isEnabled === false && before.disabledReason !== 'owner')",
      '(isEnabled === false && !before.isDisabled)',
    ),
    test: failing('reports after an hour that an endpoint fails, once, and disables it after five days'),
  },
  {
    name: 'a deleted webhook keeps its previous secret',
    changes: one(
      WEBHOOKS,
      '{ secretSealed: null, previousSecretSealed: null, previousUntil: null }',
      '{ secretSealed: null }',
    ),
    test: {
      file: 'integration/webhooks/webhooks.test.ts',
      title: 'is sealed at rest, and keeps no secret once it is deleted',
    },
  },
  {
    name: 'deliveries of a deleted webhook wait for their next attempt',
    changes: one(WEBHOOKS, 'await tx.query(LOOK_NOW, [id]);', ''),
    test: {
      file: 'integration/webhooks/webhooks-sender.test.ts',
      title: 'ends the waiting deliveries of a deleted endpoint, and sends nothing there',
    },
  },
  {
    name: 'webhooks reach a public address of the machine itself',
    changes: one('modules/webhooks/address-rules.ts', 'if (this.own.has(parsed.toString())) return false;', ''),
    test: { file: 'unit/webhooks/webhook-rules.test.ts', title: 'of this machine is refused even if it is public' },
  },
];
