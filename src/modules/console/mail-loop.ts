/**
 * Mails people their chosen notifications, from the console of their audience. That console knows only its own people,
 * and the mails show only data that they can see there. Several processes take turns by leases. Does nothing without a
 * mail server.
 */
import { createHash } from 'node:crypto';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Counter } from 'prom-client';
import { forEachConcurrently } from '../../platform/support/concurrency.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { messageOf } from '../../domain/errors.js';
import { Digests, type Digest } from '../notifications/digests.js';
import { MailClaims, type MailClaim } from '../notifications/mail-claims.js';
import { endUrlOf } from '../notifications/address-mails.js';
import { MailTokens } from '../notifications/mail-tokens.js';
import { LINES_MAX, mailText, named } from '../notifications/mail-text.js';
import { isRefusal, Mailer, type MailOutcome } from '../notifications/mailer.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { NOTIFICATIONS_PATH } from './notification-paths.js';
import { Operations } from './operations.service.js';
import type { InboxItem } from './operator-shapes.js';

const LOOK_MS = 5000;
const RETRY_MS = 15_000;
/** Lines per kind: more than the page shows, so that an item is not new again when it returns among the shown ones. */
const INBOX_MAX = 500;
const CONCURRENT_MAX = 4;
/** A mail is given up after this time without success, or after this many consecutive final refusals. */
const GIVEN_UP_SEC = 86_400;
const REFUSALS_MAX = 3;
const BACKOFF_SEC_MIN = 60;
const BACKOFF_SEC_MAX = 3600;
const OUTCOMES = ['taken', 'failed', 'given_up', 'put_off'];

@Injectable()
export class MailLoop extends RepeatedTask implements OnApplicationBootstrap {
  private readonly mails: Counter<'outcome'>;

  constructor(
    private readonly config: ConsoleConfig,
    private readonly claims: MailClaims,
    private readonly digests: Digests,
    private readonly mailer: Mailer,
    private readonly tokens: MailTokens,
    private readonly operations: Operations,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    super(RETRY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to notify people');
    });
    this.mails = new Counter({
      name: 'mails_total',
      help: 'Mails, by `outcome` (`given_up`: after a day, or three final refusals; `put_off`: hourly limit of the recipient).',
      labelNames: ['outcome'],
      registers: [metrics.registry],
    });
    for (const outcome of OUTCOMES) this.mails.inc({ outcome }, 0);
  }

  onApplicationBootstrap(): void {
    if (this.config.mail !== undefined) this.start();
  }

  /** Mails due notifications, a few in parallel. Returns the ms to rest. */
  protected override async runOnce(): Promise<number> {
    const claims = await this.claims.claim(this.config.audience);
    if (claims.length === 0) return LOOK_MS;
    const inbox = this.config.audience === 'operator' ? await this.operations.inbox(INBOX_MAX) : [];
    await forEachConcurrently(claims, CONCURRENT_MAX, async (claim) => {
      // A failed one is claimed again when its lease ends; the others continue.
      await this.notify(claim, inbox).catch((error: unknown) => {
        this.log.warn({ fault: messageOf(error) }, 'failed to notify a person');
      });
    });
    return 0;
  }

  private async notify(claim: MailClaim, inbox: readonly InboxItem[]): Promise<void> {
    const { project_id: projectId } = claim;
    const digest = projectId === null ? digestOf(inbox, claim) : await this.digests.ofProject(projectId, claim);
    if (digest.count === 0) {
      await this.claims.releaseWithoutMail(claim, digest.reached);
      return;
    }
    if (!(await this.claims.takePlace(claim))) {
      this.mails.inc({ outcome: 'put_off' });
      return;
    }
    const outcome = await this.mailer.send({
      ...this.mailOf(digest, claim),
      to: claim.email,
      id: this.idOf(claim, digest),
    });
    await this.settle(claim, digest, outcome);
  }

  private mailOf(digest: Digest, { id, project_id: projectId }: MailClaim) {
    const { url } = this.config;
    const place = projectId === null ? '' : `/p/${projectId}`;
    const endPath = `${place}${NOTIFICATIONS_PATH[projectId === null ? 'operator' : 'merchant']}`;
    const all =
      projectId === null
        ? { allPath: '/inbox', allWord: 'Inbox' }
        : { allPath: `${place}/integration/events`, allWord: 'Events' };
    const { about, isTest, lines, count } = digest;
    const subject = projectId === null ? 'The service' : `Project ${projectId.slice(0, 8)}`;
    return {
      ...mailText({ url, about, subject, isTest, lines, more: count - lines.length, ...all, endPath }),
      endUrl: endUrlOf(url, this.tokens.endNotifications(id)),
    };
  }

  /** Returns the same id for the same lines to the same person, so that a mail sent twice can be recognized. */
  private idOf({ id, position }: MailClaim, { reached }: Digest): string {
    const parts = [id, position, reached.position, ...reached.noted].join(' ');
    const hash = createHash('sha256').update(parts).digest('hex').slice(0, 32);
    return `${hash}@${new URL(this.config.url).hostname}`;
  }

  private async settle(claim: MailClaim, digest: Digest, outcome: MailOutcome): Promise<void> {
    if (outcome.kind === 'taken') {
      this.mails.inc({ outcome: 'taken' });
      await this.claims.recordSent(claim, digest.reached);
      return;
    }
    const { fault, isFinal, isUncertain } = outcome;
    // A failure of the other kind restarts the count: an hour without a server is no refusal.
    const failures = claim.failures > 0 && isFinal === isRefusal(claim.fault) ? claim.failures + 1 : 1;
    const failingSec = claim.failing_sec ?? 0;
    const isOver = (isFinal && failures >= REFUSALS_MAX) || failingSec > GIVEN_UP_SEC;
    this.mails.inc({ outcome: isOver ? 'given_up' : 'failed' });
    this.log.warn({ fault, failures, isOver }, 'failed to send a mail');
    if (isOver) {
      await this.claims.recordGivenUp(claim, digest.reached, fault, digest.count);
      return;
    }
    // Doubles the delay each time.
    const backoff = Math.min(BACKOFF_SEC_MIN + failingSec, BACKOFF_SEC_MAX);
    await this.claims.recordFailure(claim, {
      fault,
      failures,
      againSec: backoff * (0.8 + Math.random() * 0.4),
      isUncertain,
    });
  }
}

/** Hash of an inbox item without its figures, which change while it exists. */
const markOf = ({ severity, says, subject }: InboxItem): string =>
  createHash('sha256')
    .update([severity, subject?.kind, subject?.id, says.replaceAll(/\d+/g, '#')].join('\n'))
    .digest('base64url')
    .slice(0, 16);

/** Returns new inbox items of the chosen severities. An item that disappears and returns is notified again. */
export function digestOf(inbox: readonly InboxItem[], { kinds, noted }: Pick<MailClaim, 'kinds' | 'noted'>): Digest {
  const wanted = inbox.filter(({ severity }) => kinds.includes(severity));
  const known = new Set(noted);
  const news = wanted.filter((item) => !known.has(markOf(item)));
  return {
    about: 'The service',
    isTest: false,
    lines: news.slice(0, LINES_MAX).map(({ says, severity, since }) => ({
      title: `New ${severity}`,
      at: since,
      says: named(says, 300),
      path: '/inbox',
    })),
    count: news.length,
    reached: { position: 0n, noted: [...new Set(wanted.map(markOf))] },
  };
}
