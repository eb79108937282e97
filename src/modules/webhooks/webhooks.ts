/**
 * Creates, changes and deletes a project's webhook endpoints, and rotates their secrets. A secret is returned once,
 * when it is made, and sealed at rest. The sender makes the deliveries.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Raw, Repository } from 'typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { Config } from '../../platform/config/config.js';
import { ApiError, invalidField } from '../../domain/errors.js';
import { maskedUrl } from '../../domain/masked-url.js';
import { EVENT_TYPES } from '../../domain/event-types.js';
import { timeText } from '../../domain/text.js';
import { UUID } from '../../domain/uuid.js';
import type { Witness } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { WebhookEndpoint, type DisabledReason } from '../../platform/database/entities/webhook-endpoint.entity.js';
import { WebhookState } from '../../platform/database/entities/webhook-state.entity.js';
import { addCounts, reseal, secretsIn, type ResealCount } from '../../platform/database/resealing.js';
import { AddressRules } from './address-rules.js';
import { countChange, isReportedNow, isWithin, lockCounts } from './webhook-acts.js';

/** Per project at the same time. */
const WEBHOOKS_MAX = 10;
/** Creations in 24 hours: rows of deleted webhooks are kept for ever. */
export const WEBHOOKS_PER_DAY = 100;
export const ROTATION_SEC_MAX = 86_400;
/** Waiting deliveries are counted up to this number, which then means "or more". */
const PENDING_MAX = 10_000;
/** Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32;

/** An endpoint as its owner sees it, without its secrets. */
export interface WebhookView {
  readonly id: string;
  readonly project_id: string;
  readonly url: string;
  readonly types: string[] | null;
  readonly description: string;
  readonly made_by_key: string | null;
  readonly created_at: Date;
  readonly changed_at: Date;
  readonly disabled_at: Date | null;
  readonly disabled_reason: DisabledReason | null;
  /** Start of the present failures; null if the endpoint accepts events or has received none. */
  readonly failing_since: Date | null;
  /** The time until which the secret before the last rotation also signs; null if it does not. */
  readonly previous_until: Date | null;
  /** At most PENDING_MAX. */
  readonly pending: number;
}

/** Returns the number of waiting deliveries as text, with "or more" at the counting limit. */
export function pendingText({ pending }: WebhookView): string {
  return pending < PENDING_MAX ? pending.toString() : `${PENDING_MAX.toString()} or more`;
}

/** Absent members are not changed. */
export interface WebhookOptions {
  readonly url?: string;
  /** Empty means every type. */
  readonly types?: readonly string[];
  readonly description?: string;
  readonly isEnabled?: boolean;
}

const VIEW = `SELECT e.id, e.project_id, e.url, e.types, e.description, e.made_by_key, e.created_at, e.changed_at, e.disabled_at,
    e.disabled_reason, s.failing_since, CASE WHEN e.previous_until > clock_timestamp() THEN e.previous_until END AS previous_until,
    webhook_pending(e.id, ${PENDING_MAX.toString()}) AS pending
  FROM webhook_endpoint e JOIN webhook_state s ON s.endpoint_id = e.id WHERE e.project_id = $1 AND e.deleted_at IS NULL`;

/** Clears the record of failures: the owner enabled the endpoint or gave it another URL. */
const FORGET_ANSWERS = `UPDATE webhook_state SET failures = 0, failing_since = NULL, taken_at = NULL, refused_since = '{}',
    due_at = clock_timestamp() WHERE endpoint_id = $1`;

/**
 * Marks an endpoint as changed. Without `isReported` the sender later writes one event for this and further changes
 * (sender/endpoint-watch.ts). A trigger writes the event of a reported change.
 */
const changedColumns = (isReported: boolean) => ({
  changedAt: () => 'statement_timestamp()',
  ...(isReported && { changeReportedAt: () => 'statement_timestamp()' }),
});

/** A trigger stores the present secret as the previous one (src/platform/database/sql/functions/keep_previous_secret.sql). */
const KEEP_PREVIOUS = `UPDATE webhook_endpoint
    SET previous_until = CASE WHEN $2 > 0 THEN clock_timestamp() + make_interval(secs => $2) END
  WHERE id = $1`;

/** End of an overlap that runs. */
const RUNNING_OVERLAP = `SELECT previous_until AS until FROM webhook_endpoint
  WHERE id = $1 AND previous_until > clock_timestamp()`;

const LOOK_NOW = `UPDATE webhook_state SET due_at = clock_timestamp() WHERE endpoint_id = $1`;

@Injectable()
export class Webhooks {
  private readonly rules: AddressRules;

  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
    config: Config,
    @InjectRepository(WebhookEndpoint) private readonly endpoints: Repository<WebhookEndpoint>,
  ) {
    this.rules = new AddressRules(config.webhooks);
  }

  async list(projectId: string): Promise<WebhookView[]> {
    return this.database.query<WebhookView>([VIEW, 'ORDER BY e.created_at, e.id'].join(' '), [projectId]);
  }

  /** Throws 404. */
  async get(projectId: string, id: string): Promise<WebhookView> {
    const [found] = await this.database.query<WebhookView>([VIEW, 'AND e.id = $2'].join(' '), [
      projectId,
      requireId(id),
    ]);
    if (found === undefined) throw noSuchWebhook();
    return found;
  }

  /** Returns the endpoint's project, for an operator who acts on any project. Throws 404. */
  async projectOf(id: string): Promise<string> {
    const found = await this.endpoints.findOneBy({ id: requireId(id), deletedAt: IsNull() });
    if (found === null) throw noSuchWebhook();
    return found.projectId;
  }

  /**
   * Throws 400 ADDRESS_NOT_ALLOWED, 400 INVALID_REQUEST for an unknown type, and 409 LIMIT_REACHED for an eleventh
   * webhook or beyond the daily limit.
   */
  async create(
    projectId: string,
    options: WebhookOptions & { readonly url: string },
    madeByKey: string | null,
    witness: Witness,
  ): Promise<{ id: string; secret: string }> {
    const id = randomUUID();
    const secret = newSecret();
    const columns = this.columnsOf(options);
    const secretSealed = await this.seal(id, secret);
    await this.database.transaction(async (tx) => {
      await lockCounts(tx, projectId);
      const endpoints = tx.repository(WebhookEndpoint);
      if ((await endpoints.countBy({ projectId, deletedAt: IsNull() })) >= WEBHOOKS_MAX) {
        throw new ApiError(
          'LIMIT_REACHED',
          `A project can have at most ${WEBHOOKS_MAX.toString()} webhooks. Delete one first.`,
        );
      }
      const sinceYesterday = { projectId, createdAt: Raw((at) => isWithin(at, '24 hours')) };
      if ((await endpoints.countBy(sinceYesterday)) >= WEBHOOKS_PER_DAY) {
        throw new ApiError(
          'LIMIT_REACHED',
          `A project can create at most ${WEBHOOKS_PER_DAY.toString()} webhooks in 24 hours. Change one, or wait.`,
        );
      }
      await witness(tx, 'webhook.create', projectId, { webhook: id, ...shown(options) });
      await endpoints.insert({ id, projectId, madeByKey, secretSealed, ...columns, ...changedColumns(true) });
      await tx.repository(WebhookState).insert({ endpointId: id });
    });
    return { id, secret };
  }

  /**
   * Changes an endpoint; no event is written if nothing changes. Throws as `create` does, 404, and 409 LIMIT_REACHED.
   * Disabling is always possible.
   */
  async change(projectId: string, id: string, options: WebhookOptions, witness: Witness): Promise<void> {
    const columns = this.columnsOf(options);
    await this.act(projectId, id, async (tx, before) => {
      await witness(tx, 'webhook.change', projectId, { webhook: id, ...shown(options) });
      const isMoved = options.url !== undefined && options.url !== before.url;
      if (options.isEnabled === true || isMoved) await tx.query(FORGET_ANSWERS, [id]);
      if (!isChange(before, options)) return;
      // Disabling needs no count, because the enabling before it was counted.
      if (!isDeepStrictEqual(options, { isEnabled: false })) await countChange(tx, projectId, 'change');
      const changed = changedColumns(await isReportedNow(tx, projectId));
      await tx.repository(WebhookEndpoint).update({ id }, { ...columns, ...changed });
    });
  }

  /** Deletes an endpoint; nothing more is sent to it, not even waiting deliveries. Throws 404. */
  async delete(projectId: string, id: string, witness: Witness): Promise<void> {
    await this.act(projectId, id, async (tx) => {
      await witness(tx, 'webhook.delete', projectId, { webhook: id });
      const now = () => 'clock_timestamp()';
      const secrets = { secretSealed: null, previousSecretSealed: null, previousUntil: null };
      await tx.repository(WebhookEndpoint).update({ id }, { ...secrets, deletedAt: now, changedAt: now });
      // The sender ends its deliveries in batches.
      await tx.query(LOOK_NOW, [id]);
    });
  }

  /**
   * Returns a new secret; the previous one also signs for `expireSec` more. Throws 404, and 409 LIMIT_REACHED, also for
   * an overlap while an earlier one runs.
   */
  async rotate(projectId: string, id: string, expireSec: number, witness: Witness): Promise<string> {
    const secret = newSecret();
    const secretSealed = await this.seal(id, secret);
    await this.act(projectId, id, async (tx) => {
      await witness(tx, 'webhook.rotate', projectId, { webhook: id, expireSec });
      await countChange(tx, projectId, 'rotate');
      await requireOneOverlap(tx, id, expireSec);
      await tx.query(KEEP_PREVIOUS, [id, expireSec]);
      await tx
        .repository(WebhookEndpoint)
        .update({ id }, { secretSealed, ...changedColumns(await isReportedNow(tx, projectId)) });
    });
    return secret;
  }

  /** Reseals every secret under the newest key. Only counts them unless `isReplacing`. */
  async resealSecrets(isReplacing: boolean): Promise<ResealCount> {
    const present = secretsIn(this.database, 'webhook_endpoint', 'secret_sealed');
    const previous = secretsIn(this.database, 'webhook_endpoint', 'previous_secret_sealed');
    return addCounts([
      await reseal(present, this.sealers.webhookSecret, isReplacing),
      await reseal(previous, this.sealers.webhookSecret, isReplacing),
    ]);
  }

  /** Runs `work` under the lock of the endpoint's row. */
  private async act(
    projectId: string,
    id: string,
    work: (tx: Transaction, endpoint: LockedEndpoint) => Promise<void>,
  ): Promise<void> {
    requireId(id);
    await this.database.transaction(async (tx) => work(tx, await lockEndpoint(tx, projectId, id)));
  }

  private columnsOf({ url, types, description, isEnabled }: WebhookOptions) {
    if (url !== undefined && this.rules.destinationOf(url) === undefined) throw addressNotAllowed();
    const unknown = types?.find((type) => !EVENT_TYPES.some((known) => known === type));
    if (unknown !== undefined) throw invalidField('types', `${unknown} is not an event type`);
    return {
      ...(url !== undefined && { url }),
      ...(types !== undefined && { types: types.length === 0 ? null : [...new Set(types)] }),
      ...(description !== undefined && { description }),
      ...(isEnabled === true && { disabledAt: null, disabledReason: null }),
      ...(isEnabled === false && { disabledAt: () => 'clock_timestamp()', disabledReason: 'owner' as const }),
    };
  }

  private async seal(id: string, secret: string): Promise<Buffer> {
    return (await this.sealers.sealing('webhook-secret')).seal(Buffer.from(secret, 'utf8'), id);
  }
}

interface LockedEndpoint {
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly description: string;
  readonly isDisabled: boolean;
  readonly disabledReason: DisabledReason | null;
}

/** Locks the endpoint's row until the transaction ends. Throws 404. */
export async function lockEndpoint(tx: Transaction, projectId: string, id: string): Promise<LockedEndpoint> {
  const [found] = await tx.query<LockedEndpoint>(
    `SELECT url, types, description, disabled_at IS NOT NULL AS "isDisabled", disabled_reason AS "disabledReason"
       FROM webhook_endpoint WHERE id = $2 AND project_id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [projectId, id],
  );
  if (found === undefined) throw noSuchWebhook();
  return found;
}

/** Throws 409: there is room for one earlier secret, so a second overlap would end the one that receivers verify with. */
async function requireOneOverlap(tx: Transaction, id: string, overlapSec: number): Promise<void> {
  const [running] = overlapSec > 0 ? await tx.query<{ until: Date }>(RUNNING_OVERLAP, [id]) : [];
  if (running === undefined) return;
  throw new ApiError(
    'LIMIT_REACHED',
    `The secret before the present one still signs, until ${timeText(running.until)}. This rotation would end it ` +
      'immediately. Wait until then, or rotate without an overlap (expire_old_after_sec 0), which ends both secrets.',
  );
}

/** Returns true if the options change the endpoint. Disabling by the owner replaces any other reason. */
function isChange(before: LockedEndpoint, { url, types, description, isEnabled }: WebhookOptions): boolean {
  return (
    (url !== undefined && url !== before.url) ||
    (types !== undefined && !isDeepStrictEqual([...new Set(types)], before.types ?? [])) ||
    (description !== undefined && description !== before.description) ||
    (isEnabled === true && before.isDisabled) ||
    (isEnabled === false && before.disabledReason !== 'owner')
  );
}

/** Returns the id if it is a UUID. Throws 404. */
export function requireId(id: string): string {
  if (!UUID.test(id)) throw noSuchWebhook();
  return id;
}

/** `whsec_` and base64, the format of the Standard Webhooks libraries. */
function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** Returns the part of a change that the audit log stores. */
function shown({ url, ...rest }: WebhookOptions): Readonly<Record<string, unknown>> {
  return { ...(url !== undefined && { url: maskedUrl(url) }), ...rest };
}

function addressNotAllowed(): ApiError {
  return new ApiError(
    'ADDRESS_NOT_ALLOWED',
    'The webhook URL is not accepted. Use an https URL with a public host name, on an allowed port, without user and password.',
  );
}

function noSuchWebhook(): ApiError {
  return new ApiError('NOT_FOUND', 'This project has no webhook with this ID.');
}
