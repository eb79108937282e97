/**
 * The request log: each refusal (4xx) of an existing project, with its reason, for the project to read later. It never
 * affects the answer. Rows are collected in memory after the answer is sent and written in batches. A flood is
 * sampled, and excess rows are counted and dropped.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Request } from 'express';
import { Counter } from 'prom-client';
import { monotonicMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import type { ApiError } from '../../domain/errors.js';
import { headerValues } from '../../platform/http/pipeline/headers.js';
import type { RequestContext } from '../../platform/http/pipeline/request-context.js';
import { AddressList, sourceAddressOf } from '../../platform/http/pipeline/source-address.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { ProjectDirectory } from '../projects/project-directory.js';
import { Database } from '../../platform/database/database.js';
import type { Claim } from './claim.js';
import { WINDOW_SEC } from './hmac-signature.js';

const WRITE_MS = 1000;
/** Rows of all projects between two writes. */
const PENDING_MAX = 500;
/** Wrong signatures that are explained per write: each takes up to a few hundred checks. */
const EXPLAINED_MAX = 10;
/**
 * Initial rows per project, and how many a minute follow. Fewer for requests without a valid signature, and for signed
 * ones beyond a rate limit, which come in floods.
 */
const BURST = 60;
const PER_MINUTE = { proven: 20, limited: 1, unproven: 1 } as const;
type BudgetKind = keyof typeof PER_MINUTE;
const KINDS = Object.keys(PER_MINUTE) as readonly BudgetKind[];
const PROJECTS_MAX = 10_000;
/**
 * Rows kept per project. Older ones are deleted at the process's first write for the project, and after this many more.
 */
const KEPT_MAX = 5000;
const CUT_EVERY = 1000;
const TEXT_MAX = 300;

const INSERT = {
  name: 'insert_refused_requests',
  text: `INSERT INTO refused_request (project_id, at, request_id, method, path, status, error, reason, source_address, key_id, omitted)
    SELECT v.project_id, clock_timestamp() - v.age_ms * interval '1 millisecond', v.request_id, v.method, v.path, v.status,
           v.error, v.reason, v.source, v.key_id, v.omitted
      FROM unnest($1::uuid[], $2::float8[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::text[], $8::text[],
                  $9::text[], $10::uuid[], $11::integer[])
        AS v(project_id, age_ms, request_id, method, path, status, error, reason, source, key_id, omitted)`,
};
const CUT = {
  name: 'cut_refused_requests',
  text: `DELETE FROM refused_request r USING unnest($1::uuid[]) AS v(project_id)
    WHERE r.project_id = v.project_id AND r.id <= (
      SELECT o.id FROM refused_request o WHERE o.project_id = v.project_id ORDER BY o.id DESC OFFSET $2 LIMIT 1)`,
};

/** A request in progress; `claim` is set once its headers were read. */
export interface Attempt {
  readonly request: Request;
  readonly requestContext: RequestContext;
  claim: Claim | undefined;
}

interface Noted {
  readonly projectId: string;
  readonly notedMs: number;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  readonly source: string;
  readonly keyId: string | null;
  readonly omitted: number;
  /** Explains a wrong signature. */
  readonly claim: Claim | undefined;
}

@Injectable()
export class RequestLog implements BeforeApplicationShutdown {
  private pending: Noted[] = [];
  private readonly budgets = new Map<string, ProjectBudget>();
  /** Budget of requests that name no existing project. */
  private readonly unknownProjectBudget = new ProjectBudget();
  private readonly trustedProxies: AddressList;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private readonly logged: Counter;
  private readonly dropped: Counter<'cause'>;

  constructor(
    config: Config,
    private readonly directory: ProjectDirectory,
    private readonly database: Database,
    metrics: Metrics,
    private readonly log: Log,
  ) {
    this.trustedProxies = new AddressList(config.http.trustedProxies);
    this.logged = new Counter({
      name: 'request_log_rows_total',
      help: 'Refused requests in the request logs.',
      registers: [metrics.registry],
    });
    this.dropped = new Counter({
      name: 'request_log_dropped_total',
      help: 'Refused requests missing in the request logs, by `cause` (`nobody`: a flood without a project; `full`: over 500 a second).',
      labelNames: ['cause'],
      registers: [metrics.registry],
    });
    for (const cause of ['sampled', 'nobody', 'full', 'failed']) this.dropped.inc({ cause }, 0);
  }

  /** Records a request that was refused with `error`, after its answer was sent. */
  note({ request, requestContext, claim }: Attempt, error: ApiError): void {
    if (error.status >= 500) return;
    const { caller, requestId } = requestContext;
    const projectId = caller?.project.id ?? this.claimedProject(request);
    // Unknown projects have a budget too: the duration of a refusal must not reveal if a project exists.
    const budget = projectId === undefined ? this.unknownProjectBudget : this.budgetOf(projectId);
    if (!budget.take(kindOf(error, caller !== undefined))) {
      this.dropped.inc({ cause: projectId === undefined ? 'nobody' : 'sampled' });
      return;
    }
    if (projectId === undefined) return;
    if (this.pending.length >= PENDING_MAX) {
      this.dropped.inc({ cause: 'full' });
      return;
    }
    this.pending.push({
      projectId,
      notedMs: monotonicMs(),
      requestId,
      method: request.method,
      path: pathOf(request),
      status: error.status,
      error: error.code,
      reason: reasonOf(error, request, caller !== undefined),
      source: sourceAddressOf(request, this.trustedProxies),
      keyId: caller?.keyId ?? null,
      omitted: budget.takeOmitted(),
      claim: error.code === 'INVALID_SIGNATURE' && caller === undefined ? claim : undefined,
    });
    this.arm();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.write();
    await this.write();
  }

  /** Writes pending rows, one batch at a time, so that a slow database does not multiply them in memory. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writing ??= this.insertPending().finally(() => {
      this.writing = undefined;
      if (this.pending.length > 0) this.arm();
    });
    await this.writing;
  }

  private arm(): void {
    this.timer ??= setTimeout(() => {
      void this.write();
    }, WRITE_MS).unref();
  }

  /** Best effort: rows that cannot be written are counted and lost. */
  private async insertPending(): Promise<void> {
    const rows = this.pending;
    this.pending = [];
    if (rows.length === 0) return;
    try {
      const reasons = await this.reasonsOf(rows);
      const column = <T>(of: (row: Noted, index: number) => T): T[] => rows.map(of);
      const now = monotonicMs();
      await this.database.query(INSERT, [
        column(({ projectId }) => projectId),
        column(({ notedMs }) => now - notedMs),
        column(({ requestId }) => requestId),
        column(({ method }) => method.slice(0, 16)),
        column(({ path }) => path),
        column(({ status }) => status),
        column(({ error }) => error),
        column((_, index) => reasons[index]),
        column(({ source }) => source.slice(0, 64)),
        column(({ keyId }) => keyId),
        column(({ omitted }) => omitted),
      ]);
      this.logged.inc(rows.length);
      const overdue = [...new Set(column(({ projectId }) => projectId))].filter((id) => this.budgetOf(id).takeDueCut());
      if (overdue.length > 0) await this.database.query(CUT, [overdue, KEPT_MAX]);
    } catch (error) {
      this.dropped.inc({ cause: 'failed' }, rows.length);
      this.log.warn({ err: error, rows: rows.length }, 'failed to write refused requests to the request log');
    }
  }

  private async reasonsOf(rows: readonly Noted[]): Promise<string[]> {
    const reasons: string[] = [];
    let explained = 0;
    for (const { claim, projectId, reason } of rows) {
      const entry = claim === undefined ? undefined : this.directory.cached(projectId);
      if (entry === undefined || explained >= EXPLAINED_MAX) {
        reasons.push(reason);
        continue;
      }
      explained += 1;
      reasons.push((claim?.explain(entry) ?? reason).slice(0, TEXT_MAX));
      // Yields to requests.
      await pause();
    }
    return reasons;
  }

  /** Returns the existing project that an unproven request names, from the cache only. */
  private claimedProject(request: Request): string | undefined {
    const [merchant = ''] = headerValues(request.rawHeaders, 'merchant');
    const id = merchant.trim().toLowerCase();
    return this.directory.isKnown(id) ? id : undefined;
  }

  private budgetOf(projectId: string): ProjectBudget {
    const known = this.budgets.get(projectId);
    if (known !== undefined) return known;
    if (this.budgets.size >= PROJECTS_MAX) this.budgets.delete(this.budgets.keys().next().value ?? '');
    const made = new ProjectBudget();
    this.budgets.set(projectId, made);
    return made;
  }
}

/** The budget of a project's rows. */
class ProjectBudget {
  private readonly left: Record<BudgetKind, number> = { proven: BURST, limited: BURST, unproven: BURST };
  private seenMs = monotonicMs();
  private omitted = 0;
  private sinceCut = CUT_EVERY;

  take(kind: BudgetKind): boolean {
    const minutes = (monotonicMs() - this.seenMs) / 60_000;
    this.seenMs = monotonicMs();
    for (const each of KINDS) {
      this.left[each] = Math.min(BURST, this.left[each] + minutes * PER_MINUTE[each]);
    }
    if (this.left[kind] < 1) {
      this.omitted += 1;
      return false;
    }
    this.left[kind] -= 1;
    this.sinceCut += 1;
    return true;
  }

  takeOmitted(): number {
    const { omitted } = this;
    this.omitted = 0;
    return omitted;
  }

  /** Returns true once per CUT_EVERY rows: the project's oldest rows are then deleted. */
  takeDueCut(): boolean {
    if (this.sinceCut < CUT_EVERY) return false;
    this.sinceCut = 0;
    return true;
  }
}

function kindOf({ status }: ApiError, isProven: boolean): BudgetKind {
  if (!isProven) return 'unproven';
  return status === 429 ? 'limited' : 'proven';
}

/** Returns the path without the query, reduced to printable ASCII. */
function pathOf(request: Request): string {
  const [path = ''] = request.originalUrl.split('?', 1);
  return path.replace(/[^\x20-\x7e]/g, '?').slice(0, TEXT_MAX);
}

/** Returns a reason that needs no further check. */
function reasonOf(error: ApiError, request: Request, isProven: boolean): string {
  switch (error.code) {
    case 'INVALID_SIGNATURE':
      return isProven
        ? 'The API key that signed the request is revoked.'
        : 'The signature of this request matches no API key of the project.';
    case 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE': {
      const [timestamp = ''] = headerValues(request.rawHeaders, 'x-cc-timestamp');
      const said = `X-CC-Timestamp was ${timestamp.trim()}, and the service’s clock ${error.serverTime?.toString() ?? 'another'}`;
      if (timestamp.trim().length >= 13) return `${said}: it is in milliseconds. Send seconds.`;
      const isInWindow = Math.abs(Number(timestamp) - (error.serverTime ?? 0)) <= WINDOW_SEC;
      return isInWindow ? `${said}: nonces from before that time are unknown. Sign again.` : `${said}.`;
    }
    default: {
      const [first, ...more] = error.details ?? [];
      const said = first === undefined ? error.message : `${first.field}: ${first.msg}`;
      const all = more.length === 0 ? said : `${said} (and ${more.length.toString()} more)`;
      return all.replace(/[^\x20-\x7e\u2018-\u201d\u2026]/g, '?').slice(0, TEXT_MAX);
    }
  }
}
