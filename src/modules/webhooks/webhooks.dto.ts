/** Requests and answers of webhooks (docs/interface.md §27). An unknown member is refused. */
import { EVENT_TYPES } from '../../domain/event-types.js';
import { IsFlag, IsInteger, IsListOf, IsText, OneOf, Optional } from '../../platform/http/body/member-rules.js';
import { PageQuery } from '../../platform/http/body/page-query.js';
import { nameFault } from '../../domain/printable.js';
import { toJsonInteger } from '../../domain/units.js';
import { DELIVERY_STATUSES, type DeliveryCause, type DeliveryStatus } from '../../domain/webhook-delivery.js';
import type { DisabledReason } from '../../platform/database/entities/webhook-endpoint.entity.js';
import type { DeliveryView, Replay } from './webhook-deliveries.js';
import { ROTATION_SEC_MAX, type WebhookView } from './webhooks.js';

const URL_LENGTH_MAX = 2048;
const DESCRIPTION_LENGTH_MAX = 500;
const TYPES = 'Only events of these types; absent or empty: all.';
const DESCRIPTION = 'Your description.';

export class WebhookRequest {
  @IsText({ maxLength: URL_LENGTH_MAX, description: 'URL that receives events: https, with a public host name.' })
  declare readonly url: string;

  @Optional()
  @IsListOf(EVENT_TYPES, TYPES)
  declare readonly types?: readonly string[];

  @Optional()
  @IsText({ minLength: 0, maxLength: DESCRIPTION_LENGTH_MAX, check: nameFault, description: DESCRIPTION })
  declare readonly description?: string;
}

export class WebhookChangeRequest {
  @Optional()
  @IsText({ maxLength: URL_LENGTH_MAX, description: 'URL for all further deliveries, including waiting ones.' })
  declare readonly url?: string;

  @Optional()
  @IsListOf(EVENT_TYPES, TYPES)
  declare readonly types?: readonly string[];

  @Optional()
  @IsText({ minLength: 0, maxLength: DESCRIPTION_LENGTH_MAX, check: nameFault, description: DESCRIPTION })
  declare readonly description?: string;

  @Optional()
  @IsFlag('true: send again, beginning with waiting deliveries. false: send nothing.')
  declare readonly enabled?: boolean;
}

export class WebhookRotateRequest {
  @Optional()
  @IsInteger(
    () => ({ min: 0, max: ROTATION_SEC_MAX }),
    'Seconds in which the previous secret also signs. Default 86 400.',
  )
  declare readonly expire_old_after_sec?: number;
}

export class WebhookReplayRequest {
  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'Position after which events are sent again.')
  declare readonly after: number;
}

export class DeliveryListQuery extends PageQuery {
  @OneOf(DELIVERY_STATUSES, 'Only deliveries in this status.')
  declare readonly status?: DeliveryStatus;
}

export interface WebhookBody {
  readonly id: string;
  readonly url: string;
  /** Absent means all types. */
  readonly types?: readonly string[];
  readonly description: string;
  readonly enabled: boolean;
  readonly disabled_reason?: DisabledReason;
  readonly disabled_at?: string;
  readonly failing_since?: string;
  readonly pending: number;
  readonly previous_secret_until?: string;
  readonly created_at: string;
  readonly changed_at: string;
  /** Only in the answer of the request that made it. */
  readonly secret?: string;
}

export interface WebhookListBody {
  readonly items: readonly WebhookBody[];
}

export interface DeliveryBody {
  readonly id: number;
  readonly event_id: string;
  readonly type: string;
  readonly position?: number;
  readonly cause: DeliveryCause;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly created_at: string;
  readonly next_attempt_at?: string;
  readonly last_attempt_at?: string;
  readonly ended_at?: string;
  readonly last_status?: number;
  readonly last_error?: string;
  readonly last_answer?: string;
  readonly last_duration_ms?: number;
}

export interface DeletedBody {
  readonly id: string;
  readonly deleted: true;
}

export interface ReplayBody {
  readonly events: number;
  readonly last_position: number;
}

/** Removes members that are null. */
function withoutNull<T extends object>(members: { readonly [K in keyof T]: T[K] | null }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as T;
}

const timeOf = (moment: Date | null): string | null => moment?.toISOString() ?? null;

export function webhookBody(view: WebhookView): WebhookBody {
  return withoutNull<Omit<Required<WebhookBody>, 'secret'>>({
    id: view.id,
    url: view.url,
    types: view.types,
    description: view.description,
    enabled: view.disabled_at === null,
    disabled_reason: view.disabled_reason,
    disabled_at: timeOf(view.disabled_at),
    failing_since: timeOf(view.failing_since),
    pending: view.pending,
    previous_secret_until: timeOf(view.previous_until),
    created_at: view.created_at.toISOString(),
    changed_at: view.changed_at.toISOString(),
  });
}

export function deliveryBody(view: DeliveryView): DeliveryBody {
  return withoutNull<Required<DeliveryBody>>({
    id: toJsonInteger(view.id),
    event_id: view.event_key,
    type: view.type,
    position: view.cause === 'test' ? null : toJsonInteger(view.position),
    cause: view.cause,
    status: view.status,
    attempts: view.attempts,
    created_at: view.created_at.toISOString(),
    next_attempt_at: timeOf(view.next_at),
    last_attempt_at: timeOf(view.attempted_at),
    ended_at: timeOf(view.ended_at),
    last_status: view.answer_status,
    last_error: view.fault,
    last_answer: view.answer,
    last_duration_ms: view.duration_ms,
  });
}

export function replayBody({ events, lastPosition }: Replay): ReplayBody {
  return { events, last_position: toJsonInteger(lastPosition) };
}
