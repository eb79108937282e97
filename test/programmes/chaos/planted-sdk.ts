// Planted bugs in the SDK, each with the test that must catch it.
import { one, type NamedTest, type PlantedBug } from './planted-bug.js';

const SDK = 'packages/sdk/src';
const TRANSPORT = `${SDK}/transport.ts`;
const ORDERS = `${SDK}/orders.ts`;

const faults = (title: string): NamedTest => ({ file: 'long/sdk/sdk-faults.test.ts', title });
const calls = (title: string): NamedTest => ({ file: 'unit/sdk/sdk-calls.test.ts', title });
const events = (title: string): NamedTest => ({ file: 'unit/sdk/sdk-events.test.ts', title });
const webhooks = (title: string): NamedTest => ({ file: 'unit/sdk/sdk-webhooks.test.ts', title });

const ANY_ORDER = one(ORDERS, `'key' in body && body.key === key`, `'key' in body && key !== ''`);

const waits = (title: string): NamedTest => ({ file: 'unit/sdk/sdk-waiting.test.ts', title });
const BODIES: NamedTest = {
  file: 'unit/sdk/sdk-bodies.test.ts',
  title: 'by name, and sends nothing',
};

export const PLANTED_SDK: readonly PlantedBug[] = [
  {
    name: 'the SDK gives up when a second process forgets its nonces',
    changes: one(
      TRANSPORT,
      'outcome.isTransient || isOfOtherClock;',
      'outcome.isTransient || (isOfOtherClock && attempt === 0);',
    ),
    test: calls('is signed again as often as it may be repeated while processes of the service forget their nonces'),
  },
  {
    name: 'the SDK calls a purchase unsent whose connection lost its route',
    changes: one(`${SDK}/attempt.ts`, ' || IN_USE.test(syscall)', ''),
    test: calls('has an unknown outcome only if it may have left before its route was lost:'),
  },
  {
    name: 'the SDK sends NaN as null',
    changes: one(`${SDK}/json-body.ts`, `if (typeof value === 'number') requireNumber(value, at);`, ''),
    test: BODIES,
  },
  {
    name: 'the SDK sends undefined in a list as null',
    changes: one(`${SDK}/json-body.ts`, '/^(?:undefined|function|symbol|bigint)$/', '/^(?:function|symbol|bigint)$/'),
    test: BODIES,
  },
  {
    name: 'the SDK writes NaN into a query',
    changes: one(TRANSPORT, 'return numberText(name, value as number);', 'return String(value);'),
    test: { file: 'unit/sdk/sdk-bodies.test.ts', title: 'rejects NaN before anything is sent:' },
  },
  {
    name: 'the SDK gives up waiting when its first read fails',
    changes: one(ORDERS, 'if (isPassed && (await', 'if (!isPassed && (await'),
    test: waits('continues after its first reads fail:'),
  },
  {
    name: 'the SDK calls an order refused that it could not read',
    changes: one(ORDERS, 'throw new UnknownOutcomeError(key, thrown.requestId, thrown);', 'throw thrown;'),
    test: waits('never calls an order that it could not read refused:'),
  },
  {
    name: 'the SDK repeats a purchase with a new key',
    changes: [
      ...ANY_ORDER,
      ...one(
        TRANSPORT,
        'const { baseUrl, signer } = this.settings;',
        `const { baseUrl, signer } = this.settings;
    if (call.key !== undefined) call = { ...call, key: randomUUID() };`,
      ),
    ],
    test: faults('a thousand purchases through a proxy that loses, delays and repeats are a thousand orders'),
  },
  {
    name: 'the SDK calls an unknown outcome a failure',
    changes: one(TRANSPORT, `call.kind === 'read' || !by.mayBeDone`, `call.kind === 'read' || by.mayBeDone !== null`),
    test: faults('again and again: the outcome is unknown, and its key finds the one order'),
  },
  {
    name: 'the SDK takes a refusal for the outcome of the attempts before it',
    changes: one(TRANSPORT, 'mayBeDone ||= outcome.mayBeDone;', 'mayBeDone = outcome.mayBeDone;'),
    test: calls('that is refused after a lost answer may have been bought by the earlier attempt'),
  },
  {
    name: 'the SDK repeats a change that may have been made',
    changes: one(TRANSPORT, `!(outcome.mayBeDone && call.kind === 'change')`, 'true'),
    test: calls('is made once, with an unknown outcome, if'),
  },
  {
    name: 'the SDK takes an answer to another purchase',
    changes: ANY_ORDER,
    test: faults('a thousand purchases through a proxy that loses, delays and repeats are a thousand orders'),
  },
  {
    name: 'the SDK takes a copy that was refused for the request',
    changes: one(
      `${SDK}/attempt.ts`,
      `'SERVICE_UNAVAILABLE', 'SIGNATURE_REPLAYED');\n/** The request`,
      `'SERVICE_UNAVAILABLE');\n/** The request`,
    ),
    test: calls('is repeated, with an unknown outcome in the end, if'),
  },
  {
    name: 'the SDK comes again sooner than it is asked to',
    changes: one(TRANSPORT, '(error.retryAfterSec ?? 0) * 1000', '0'),
    test: calls('waits at least as long as it is asked to'),
  },
  {
    name: 'an attempt of the SDK outlives the deadline',
    changes: one(TRANSPORT, '(call.heldSec ?? 0) * 1000, deadline.leftMs);', '(call.heldSec ?? 0) * 1000, Infinity);'),
    test: calls('has one deadline over all attempts and waits'),
  },
  {
    name: 'the SDK makes a key where one was forgotten',
    changes: one(ORDERS, `'idempotencyKey' in options ?`, 'options.idempotencyKey !== undefined ?'),
    test: calls('requires a valid key, and rejects a forgotten one'),
  },
  {
    name: 'the SDK reads a stream from its beginning after a cut',
    changes: one(`${SDK}/event-stream.ts`, 'after: this.position ?? this.start.after', 'after: this.start.after'),
    test: events('a stream continues after the last consumed event, wherever it was cut'),
  },
  {
    name: 'the SDK yields an event that comes twice',
    changes: one(`${SDK}/event-stream.ts`, ' || position <= (this.position ?? -1)', ''),
    test: events('a stream continues after the last consumed event, wherever it was cut'),
  },
  {
    name: 'the SDK takes webhooks of any age',
    changes: one(`${SDK}/verify-webhook.ts`, '<= toleranceSec)', '<= Infinity)'),
    test: webhooks('rejects times outside the tolerance'),
  },
  {
    name: 'the SDK verifies by the first of two secrets',
    changes: one(`${SDK}/verify-webhook.ts`, 'const isSigned = keys.some(', 'const isSigned = keys.slice(0, 1).some('),
    test: webhooks('accepts either secret during a rotation, on either side'),
  },
  {
    name: 'the SDK takes milliseconds of a date for seconds',
    changes: one(`${SDK}/attempt.ts`, '(Date.parse(value) - Date.now()) / 1000', 'Date.parse(value) - Date.now()'),
    test: calls('knows the seconds that a proxy asks for with a date'),
  },
  {
    name: 'the SDK calls a change refused that a proxy gave up on',
    changes: one(`${SDK}/attempt.ts`, '(status >= 500 || status === 408)', 'status >= 500'),
    test: calls('is made once, with an unknown outcome, if'),
  },
];
