/**
 * The endpoints of a project: made, changed, deleted, and their secrets rotated. A secret leaves this file here alone,
 * when it is made; at rest it is sealed. What is sent to them is the sender's.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Equal, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { nowMs } from '../base/clock.js';
import { Sealers } from '../base/sealers.js';
import { Config } from '../config/config.js';
import { ApiError, invalidField } from '../domain/errors.js';
import { maskedUrl } from '../domain/masked-url.js';
import { EVENT_TYPES } from '../events/payload.js';
import type { Witness } from '../store/audit-log.js';
import { Database, type Transaction } from '../store/database.js';
import { WebhookEndpoint, type DisabledReason } from '../store/entities/webhook-endpoint.entity.js';
import { WebhookState } from '../store/entities/webhook-state.entity.js';
import { addCounts, RESEAL_BATCH, reseal, type ResealCount, type SecretStore } from '../store/resealing.js';
import { AddressRules } from './address-rules.js';
import { countChange, isReportedNow, lockCounts } from './webhook-acts.js';

/** Of one project at once. */
const WEBHOOKS_MAX = 10;
/** In 24 hours: deleted ones are kept for ever. */
export const WEBHOOKS_PER_DAY = 100;
export const ROTATION_SEC_MAX = 86_400;
const DAY_MS = 86_400_000;
/** What waits is counted up to this: so many, or more. */
const PENDING_MAX = 10_000;
/** As Standard Webhooks wants it: 24 to 64. */
const SECRET_BYTES = 32;

/** An endpoint as its owner sees it: everything but its secrets. */
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
  /** Since when it takes nothing; null while it takes events, or got none. */
  readonly failing_since: Date | null;
  /** Until when the secret before the last rotation still signs; null when it does not. */
  readonly previous_until: Date | null;
  /** At most PENDING_MAX. */
  readonly pending: number;
}

/** How many deliveries wait, in words: beyond what is counted, so many or more. */
export function pendingText({ pending }: WebhookView): string {
  return pending < PENDING_MAX ? pending.toString() : `${PENDING_MAX.toString()} or more`;
}

/** Absent members stay as they are. */
export interface WebhookOptions {
  readonly url?: string;
  /** Empty: every type. */
  readonly types?: readonly string[];
  readonly description?: string;
  readonly isEnabled?: boolean;
}

const VIEW = `SELECT e.id, e.project_id, e.url, e.types, e.description, e.made_by_key, e.created_at, e.changed_at, e.disabled_at,
    e.disabled_reason, s.failing_since, CASE WHEN e.previous_until > clock_timestamp() THEN e.previous_until END AS previous_until,
    webhook_pending(e.id, ${PENDING_MAX.toString()}) AS pending
  FROM webhook_endpoint e JOIN webhook_state s ON s.endpoint_id = e.id WHERE e.project_id = $1 AND e.deleted_at IS NULL`;

/** Forgets how the endpoint has answered: its owner enables it, or gives it another URL. */
const FORGET_ANSWERS = `UPDATE webhook_state SET failures = 0, failing_since = NULL, taken_at = NULL, refused_since = '{}',
    due_at = clock_timestamp() WHERE endpoint_id = $1`;

/** Marks an endpoint as changed. Without `isReported` the sender writes the event, of this and further changes (sender/endpoint-watch.ts). */
const changedColumns = (isReported: boolean) => ({
  changedAt: () => 'statement_timestamp()',
  changeReportedAt: () => (isReported ? 'statement_timestamp()' : `coalesce(change_reported_at, created_at)`),
});

/** A trigger keeps the secret in use as the one before (store/functions/previous-secrets.ts). */
const KEEP_PREVIOUS = `UPDATE webhook_endpoint
    SET previous_until = CASE WHEN $2 > 0 THEN clock_timestamp() + make_interval(secs => $2) END
  WHERE id = $1`;

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

  /** The project that an endpoint is of, for those who act for any. Throws 404. */
  async projectOf(id: string): Promise<string> {
    const found = await this.endpoints.findOneBy({ id: requireId(id), deletedAt: IsNull() });
    if (found === null) throw noSuchWebhook();
    return found.projectId;
  }

  /**
   * Throws 400 ADDRESS_NOT_ALLOWED, 400 INVALID_REQUEST for a type there is not, 409 LIMIT_REACHED for an eleventh, and for
   * too many in a day.
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
          `A project has at most ${WEBHOOKS_MAX.toString()} webhooks; delete one first.`,
        );
      }
      const sinceYesterday = { projectId, createdAt: MoreThan(new Date(nowMs() - DAY_MS)) };
      if ((await endpoints.countBy(sinceYesterday)) >= WEBHOOKS_PER_DAY) {
        throw new ApiError(
          'LIMIT_REACHED',
          `A project makes at most ${WEBHOOKS_PER_DAY.toString()} webhooks in 24 hours; change one, or wait.`,
        );
      }
      await witness(tx, 'webhook.create', projectId, { webhook: id, ...shown(options) });
      await endpoints.insert({ id, projectId, madeByKey, secretSealed, ...columns });
      await tx.repository(WebhookState).insert({ endpointId: id });
    });
    return { id, secret };
  }

  /** What changes nothing is no event. Throws as `create` does, 404, and 409 LIMIT_REACHED; disabling is always possible. */
  async change(projectId: string, id: string, options: WebhookOptions, witness: Witness): Promise<void> {
    const columns = this.columnsOf(options);
    await this.act(projectId, id, async (tx, before) => {
      await witness(tx, 'webhook.change', projectId, { webhook: id, ...shown(options) });
      const isMoved = options.url !== undefined && options.url !== before.url;
      if (options.isEnabled === true || isMoved) await tx.query(FORGET_ANSWERS, [id]);
      if (!isChange(before, options)) return;
      // Each disabling needs an enabling before it, which is counted.
      if (!isDeepStrictEqual(options, { isEnabled: false })) await countChange(tx, projectId, 'change');
      const changed = changedColumns(await isReportedNow(tx, projectId));
      await tx.repository(WebhookEndpoint).update({ id }, { ...columns, ...changed });
    });
  }

  /** Nothing is sent to it any more, also of what waits. Throws 404. */
  async delete(projectId: string, id: string, witness: Witness): Promise<void> {
    await this.act(projectId, id, async (tx) => {
      await witness(tx, 'webhook.delete', projectId, { webhook: id });
      const now = () => 'clock_timestamp()';
      const secrets = { secretSealed: null, previousSecretSealed: null, previousUntil: null };
      await tx.repository(WebhookEndpoint).update({ id }, { ...secrets, deletedAt: now, changedAt: now });
      // Its deliveries are ended by who sends them, a few at a time.
      await tx.query(LOOK_NOW, [id]);
    });
  }

  /** A new secret; the one before signs beside it for `expireSec` more. Throws 404, and 409 LIMIT_REACHED. */
  async rotate(projectId: string, id: string, expireSec: number, witness: Witness): Promise<string> {
    const secret = newSecret();
    const secretSealed = await this.seal(id, secret);
    await this.act(projectId, id, async (tx) => {
      await witness(tx, 'webhook.rotate', projectId, { webhook: id, expireSec });
      await countChange(tx, projectId, 'rotate');
      await tx.query(KEEP_PREVIOUS, [id, expireSec]);
      await tx
        .repository(WebhookEndpoint)
        .update({ id }, { secretSealed, ...changedColumns(await isReportedNow(tx, projectId)) });
    });
    return secret;
  }

  /** Seals every secret anew under the newest key; unless it `isReplacing`, only counts them. */
  async resealSecrets(isReplacing: boolean): Promise<ResealCount> {
    return addCounts([
      await reseal(this.secretsOf('secretSealed'), this.sealers.webhookSecret, isReplacing),
      await reseal(this.secretsOf('previousSecretSealed'), this.sealers.webhookSecret, isReplacing),
    ]);
  }

  private secretsOf(column: 'secretSealed' | 'previousSecretSealed'): SecretStore<string> {
    return {
      next: async (after) => {
        const query = this.endpoints.createQueryBuilder('e').orderBy('e.id', 'ASC').take(RESEAL_BATCH);
        query.where({ [column]: Not(IsNull()) });
        if (after !== undefined) query.andWhere({ id: MoreThan(after) });
        const found = await query.getMany();
        return found.flatMap(({ id, [column]: sealed }) => (sealed === null ? [] : [{ id, context: id, sealed }]));
      },
      replace: async ({ id, sealed: old }, sealed) =>
        this.database.transaction(async (tx) => {
          const unchanged = { id, [column]: Equal(old) };
          return (await tx.repository(WebhookEndpoint).update(unchanged, { [column]: sealed })).affected === 1;
        }),
    };
  }

  /** Acts on an endpoint under its row's lock. */
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
    if (unknown !== undefined) throw invalidField('types', `${unknown} is no type of event`);
    return {
      ...(url !== undefined && { url }),
      ...(types !== undefined && { types: types.length === 0 ? null : [...new Set(types)] }),
      ...(description !== undefined && { description }),
      ...(isEnabled === true && { disabledAt: null, disabledReason: null, failingToldAt: null }),
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

/** Holds the endpoint's row until the transaction ends. Throws 404. */
export async function lockEndpoint(tx: Transaction, projectId: string, id: string): Promise<LockedEndpoint> {
  const [found] = await tx.query<LockedEndpoint>(
    `SELECT url, types, description, disabled_at IS NOT NULL AS "isDisabled", disabled_reason AS "disabledReason"
       FROM webhook_endpoint WHERE id = $2 AND project_id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [projectId, id],
  );
  if (found === undefined) throw noSuchWebhook();
  return found;
}

/** Whether the endpoint is another one afterwards. Its owner's word replaces any other reason that it is disabled for. */
function isChange(before: LockedEndpoint, { url, types, description, isEnabled }: WebhookOptions): boolean {
  return (
    (url !== undefined && url !== before.url) ||
    (types !== undefined && !isDeepStrictEqual([...new Set(types)], before.types ?? [])) ||
    (description !== undefined && description !== before.description) ||
    (isEnabled === true && before.isDisabled) ||
    (isEnabled === false && before.disabledReason !== 'owner')
  );
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id, if it is of the form of one. Throws 404. */
export function requireId(id: string): string {
  if (!UUID.test(id)) throw noSuchWebhook();
  return id;
}

/** `whsec_` and base64, as every library of Standard Webhooks reads it. */
function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** What the audit log keeps of a change. */
function shown({ url, ...rest }: WebhookOptions): Readonly<Record<string, unknown>> {
  return { ...(url !== undefined && { url: maskedUrl(url) }), ...rest };
}

function addressNotAllowed(): ApiError {
  return new ApiError(
    'ADDRESS_NOT_ALLOWED',
    'A webhook goes to an https URL of a public host name, on a port that is allowed, without user and password.',
  );
}

function noSuchWebhook(): ApiError {
  return new ApiError('NOT_FOUND', 'This project has no webhook with this id.');
}
