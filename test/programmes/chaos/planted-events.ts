// Planted bugs in events: position, content, delivery, signature and destination.
import { DEATHS, one, SCHEMA, type NamedTest, type PlantedBug } from './planted-bug.js';

const NUMBERER = 'modules/events/numberer.ts';
const CLAIMS = 'modules/sender/delivery-claims.ts';
const RECORDS = 'modules/sender/delivery-records.ts';
const ATTEMPT = 'modules/sender/attempt.ts';

const events = (title: string): NamedTest => ({ file: 'integration/events/events.test.ts', title });
const sender = (title: string): NamedTest => ({ file: 'integration/webhooks/webhooks-sender.test.ts', title });
const LATE = events('a late commit comes later: a reader past it misses nothing');
const ALONE = events('while one session numbers, no other one does, and none waits');
const WRITERS = events('a hundred writers and a reader by position: every event once, and none of one object reversed');
const AS_IT_WAS = events(
  'reports an accepted and refunded order as it was at each moment, however late it is numbered',
);
const GIVEN_BACK = events('reports acts on a project: a freeze, its end, and compensations for an order');
const TAKEN_OVER = sender('continues what a dead sender held, and late results of that one change nothing');
const ROTATED = sender('signs by both secrets during a rotation, and only by the new one after the old has expired');
const REDIRECTED: NamedTest = { file: 'integration/webhooks/webhooks-attempt.test.ts', title: 'follows no redirect' };

const NEXT_POSITION = '(given.last.get(event.project_id) ?? event.last_position) + 1n';

export const PLANTED_EVENTS: readonly PlantedBug[] = [
  {
    name: 'a reader of some types waits for new events while more of them are there',
    changes: one(
      'modules/events/event-log.ts',
      'hasMore: items.length === limit || rows.length === rowsMax',
      'hasMore: rows.length === rowsMax',
    ),
    test: events('reads only the wanted types, and the position passes the others'),
  },
  {
    name: 'a batch of large events is one statement of any size',
    changes: one(NUMBERER, 'chars > PAYLOAD_CHARS_MAX', 'false'),
    test: {
      file: 'integration/events/large-events.test.ts',
      title: 'numbers events of ten megabytes in several batches, and one that exceeds a batch alone',
    },
  },
  {
    name: 'the position of an event is taken from a sequence',
    changes: one(NUMBERER, NEXT_POSITION, 'event.id'),
    test: LATE,
  },
  {
    name: 'the positions of all projects are taken from one counter',
    changes: [
      { file: NUMBERER, find: NEXT_POSITION, put: `(given.last.get('') ?? event.last_position) + 1n` },
      {
        file: NUMBERER,
        find: 'given.last.set(event.project_id, position);',
        put: `given.last.set(event.project_id, position).set('', position);`,
      },
      {
        file: NUMBERER,
        find: 'const projects = [...given.last]',
        put: `given.last.delete(''); const projects = [...given.last]`,
      },
    ],
    test: WRITERS,
  },
  {
    name: 'two number at once',
    changes: one('modules/events/numbering-lock.ts', 'return lock?.held === true;', 'return lock !== undefined;'),
    test: ALONE,
  },
  {
    name: 'an order’s first event is written after its commit',
    changes: [
      {
        file: SCHEMA,
        find: `  INSERT INTO event (project_id, order_id, type) VALUES (p_project, order_id, 'order.created');\n`,
        put: '',
      },
      {
        file: 'modules/orders/accept-statement.ts',
        find: 'return ACCEPT.run(database, { ...request, terms: terms ?? NO_TERMS });',
        put: `const row = await ACCEPT.run(database, { ...request, terms: terms ?? NO_TERMS });
  if (row.created) await database.query(
    \`INSERT INTO event (project_id, order_id, type) VALUES ($1, $2, 'order.created')\`, [request.purchase.project.id, row.order_id]);
  return row;`,
      },
    ],
    first: DEATHS,
  },
  {
    name: 'deliveries are made after the commit that numbers',
    changes: [
      {
        file: SCHEMA,
        find: 'WHERE n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL',
        put: `WHERE TG_OP = 'INSERT' AND n.payload IS NOT NULL AND e.deleted_at IS NULL AND e.disabled_at IS NULL`,
      },
      {
        file: NUMBERER,
        find: 'const given = this.assignPositions(events);',
        put: 'const given = this.assignPositions(events); this.lately = given.ids;',
      },
      {
        file: NUMBERER,
        find: '    this.numberedCounter.inc(numbered);',
        put: `    await this.database.query(
      \`INSERT INTO webhook_delivery (endpoint_id, cause, event_id, event_key, type, position)
       SELECT e.id, 'event', n.id, n.payload::json ->> 'id', n.type, n.position FROM event n
         JOIN webhook_endpoint e ON e.project_id = n.project_id AND e.deleted_at IS NULL AND e.disabled_at IS NULL
        WHERE n.id = ANY ($1::bigint[]) AND (e.types IS NULL OR n.type = ANY (e.types))\`, [this.lately ?? []]);
    this.lately = [];
    this.numberedCounter.inc(numbered);`,
      },
    ],
    test: {
      file: 'integration/webhooks/webhooks.test.ts',
      title: 'are created with the position itself: a numberer that dies right after leaves nothing to catch up',
    },
  },
  {
    name: 'events go to the webhooks of every project',
    changes: one(
      SCHEMA,
      'FROM numbered n JOIN webhook_endpoint e ON e.project_id = n.project_id',
      'FROM numbered n CROSS JOIN webhook_endpoint e',
    ),
    first: ['receivers slow'],
  },
  {
    name: 'a delivery is recorded before it is sent',
    changes: one(
      'modules/sender/delivery-attempts.ts',
      '      const answered = await this.send(\n',
      `      await this.claims.record(sender, delivery, outcomeOf(delivery, { durationMs: 1 }));
      const answered = await this.send(\n`,
    ),
    first: ['sender killed at a point', 'receivers away'],
  },
  {
    name: 'the sender records without its fence',
    changes: one(
      RECORDS,
      'WHERE s.endpoint_id = tried.endpoint_id AND s.fence = $2 RETURNING',
      'WHERE s.endpoint_id = $1 AND $2::int > 0 RETURNING',
    ),
    test: TAKEN_OVER,
  },
  {
    name: 'who takes an endpoint over leaves its fence as it was',
    changes: one(CLAIMS, 'ELSE s.fence + 1 END', 'ELSE greatest(s.fence, 1) END'),
    test: TAKEN_OVER,
  },
  {
    name: 'an endpoint is taken from a living sender when something is new',
    changes: one(CLAIMS, ' AND (${LEASE_IS_FREE} OR holder = $1)`;', ' AND (holder IS NULL OR $1::uuid IS NOT NULL)`;'),
    test: TAKEN_OVER,
  },
  {
    name: 'the old secret is dropped as soon as there is a new one',
    changes: one(
      CLAIMS,
      'e.previous_until > clock_timestamp()',
      `e.previous_until < clock_timestamp() - interval '1 day'`,
    ),
    test: ROTATED,
  },
  {
    name: 'the old secret signs for ever',
    changes: one(CLAIMS, 'WHEN e.previous_until > clock_timestamp()\n', 'WHEN true\n'),
    test: ROTATED,
  },
  {
    name: 'a redirect is followed',
    changes: [
      {
        file: 'modules/sender/answer-reader.ts',
        find: `    if (name === 'retry-after')`,
        put: `    if (name === 'location') this.location = value;\n    if (name === 'retry-after')`,
      },
      {
        file: ATTEMPT,
        find: '    await readAnswer(socket, reader);',
        put: `    await readAnswer(socket, reader);
    const { location } = reader;
    if (location === undefined) return;
    Object.assign(reader, new AnswerReader(), { location: undefined });
    await this.exchange({ ...message, url: location }, hooks, { deadline, sockets, reader });`,
      },
    ],
    test: REDIRECTED,
  },
  {
    name: 'a redirect counts as delivered',
    changes: one(
      ATTEMPT,
      'if (status >= 200 && status < 300) return undefined;',
      'if (status >= 200 && status < 400) return undefined;',
    ),
    test: REDIRECTED,
  },
  {
    name: 'an order’s first event shows what became of it since',
    changes: one(NUMBERER, `'status', 'reserved',`, `'status', o.status,`),
    test: AS_IT_WAS,
  },
  {
    name: 'what was given back is read when the event is numbered',
    changes: one(
      NUMBERER,
      'coalesce(e.snapshot, CASE',
      `coalesce(CASE WHEN e.type = 'order.compensated' THEN json_build_object('order', e.snapshot -> 'order', 'legs', e.snapshot -> 'legs',
        'compensations', (SELECT json_agg(json_build_object('credits', c.credits, 'at', c.created_at, 'reason', c.reason) ORDER BY c.id)
          FROM credit_entry c WHERE c.kind = 'compensation' AND c.order_id = e.order_id)) END, e.snapshot, CASE`,
    ),
    test: GIVEN_BACK,
  },
  {
    name: 'what is resent while it is tried waits for its turn',
    changes: one(RECORDS, 'WHEN held.is_requested THEN d.next_at', 'WHEN false THEN d.next_at'),
    test: sender('a resend during an attempt is due immediately, whatever the attempt’s result'),
  },
  {
    name: 'an endpoint whose deliveries cannot be read fails the look at all',
    changes: one(
      'modules/sender/sender-loop.ts',
      'if (isDatabaseAway(error)) throw error;\n    }\n    let failed',
      'throw error;\n    }\n    let failed',
    ),
    test: sender('an endpoint with unreadable deliveries delays no other, and rests'),
  },
  {
    name: 'webhooks of a frozen project are tested and sent again',
    changes: one('modules/webhooks/webhook-deliveries.ts', 'if (account?.frozen === true) {', 'if (false) {'),
    test: {
      file: 'integration/operator/cli-webhooks.test.ts',
      title: 'tests, replays and resends nothing for a frozen project, whose events still go out',
    },
  },
];
