/** Requests and answers of events (docs/interface.md §26). */
import { invalidField, type FieldFault } from '../../domain/errors.js';
import { Parameter } from '../../platform/http/body/member-rules.js';
import { ListQuery, Query } from '../../platform/http/body/page-query.js';
import { headerValues } from '../../platform/http/pipeline/headers.js';
import type { EventPage } from './event-log.js';
import type { After } from './event-reading.js';
import { EVENT_TYPES, type EventType } from '../../domain/event-types.js';

/** Positions are integers that JSON represents exactly. */
const POSITION = /^(?:0|[1-9][0-9]{0,15})$/;
const AFTER_RULE = 'must be a position (only digits, at most 9007199254740991) or latest';
const WAIT = /^(?:[0-9]|[12][0-9]|30)$/;

const isPosition = (text: string): boolean => POSITION.test(text) && Number.isSafeInteger(Number(text));

const IsAfter = () =>
  Parameter({
    name: 'isAfter',
    faultOf: (value) => (value === 'latest' || isPosition(String(value)) ? undefined : AFTER_RULE),
    openApi: () => ({
      type: 'string',
      pattern: '^(?:latest|0|[1-9][0-9]{0,15})$',
      description:
        'Position to continue after: `last_position` of the previous answer. `latest`: only new events. If absent: from the oldest kept event.',
    }),
  });

const IsTypes = () =>
  Parameter({
    name: 'isTypes',
    faultOf: (value) => {
      const unknown = String(value)
        .split(',')
        .find((type) => !EVENT_TYPES.some((known) => known === type));
      if (unknown === undefined) return undefined;
      return `must be types of events, separated by commas: ${EVENT_TYPES.join(', ')}`;
    },
    openApi: () => ({
      type: 'string',
      pattern: `^(?:${EVENT_TYPES.map((type) => type.replace('.', '\\.')).join('|')})(?:,.*)?$`,
      description: `Only events of these types, separated by commas: ${EVENT_TYPES.join(', ')}.`,
    }),
  });

export class EventListQuery extends ListQuery {
  @IsAfter()
  declare readonly after?: string;

  @IsTypes()
  declare readonly types?: string;

  @Parameter({
    name: 'isWait',
    faultOf: (value) => (WAIT.test(String(value)) ? undefined : 'must be from 0 to 30'),
    openApi: () => ({
      type: 'integer',
      minimum: 0,
      maximum: 30,
      default: 0,
      description: 'Seconds to hold the answer while there is no event.',
    }),
  })
  declare readonly wait?: string;
}

export class EventStreamQuery extends Query {
  @IsAfter()
  declare readonly after?: string;

  @IsTypes()
  declare readonly types?: string;
}

export function afterOf(text: string | undefined): After {
  return text === undefined || text === 'latest' ? text : BigInt(text);
}

export function typesOf(text: string | undefined): readonly EventType[] | undefined {
  return text === undefined ? undefined : (text.split(',') as EventType[]);
}

const LAST_EVENT_ID = 'Last-Event-ID';

/**
 * Returns the start of a resumed stream: the last id that the caller has seen. It takes precedence over `after`, since
 * a reconnecting caller sends both. Throws 400 for an invalid id.
 */
export function resumedAfter(rawHeaders: readonly string[], after: string | undefined): After {
  const [id, ...more] = headerValues(rawHeaders, LAST_EVENT_ID.toLowerCase());
  if (id === undefined) return afterOf(after);
  const fault: FieldFault['msg'] = more.length > 0 ? 'must be sent once' : 'must be the ID of an event of a stream';
  if (more.length > 0 || !isPosition(id)) throw invalidField(LAST_EVENT_ID, fault);
  return BigInt(id);
}

/**
 * Returns the answer as JSON text. The events are JSON already and never change. `isTest` marks answers to a test
 * project.
 */
export function pageText({ items, lastPosition }: EventPage, isTest: boolean): string {
  const events = items.map(({ payload }) => payload).join(',');
  return `{"items":[${events}],"last_position":${lastPosition.toString()}${isTest ? ',"test":true' : ''}}`;
}
