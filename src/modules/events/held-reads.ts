/**
 * Tracks reads of the log that are held open: long polls and streams. Bounded per project and per process. Each ends
 * when its caller disconnects or loses access, or when the process stops.
 */
import type { ServerResponse } from 'node:http';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { OpenCalls } from '../auth/open-calls.js';
import { Config } from '../../platform/config/config.js';
import { ApiError, serviceBusy } from '../../domain/errors.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';
import { Metrics, addGaugeBy } from '../../platform/observability/metrics.js';

export type ReadKind = 'poll' | 'stream';

/** Maximum per project in each process. */
const PER_PROJECT: Readonly<Record<ReadKind, number>> = { poll: 20, stream: 10 };
const NAMES: Readonly<Record<ReadKind, string>> = { poll: 'long polls', stream: 'streams' };
const RETRY_AFTER_SEC = 5;

/** The cause that ended a read early. */
export type EndedBy = 'caller' | 'refusal' | 'stop';

/** One open read. Its signal aborts with the cause when it must end. */
export class HeldRead {
  private readonly controller = new AbortController();
  /** The refusal that the same request would receive now, if that ended the read. */
  refusal: ApiError | undefined;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get endedBy(): EndedBy | undefined {
    return this.signal.aborted ? (this.signal.reason as EndedBy) : undefined;
  }

  end(by: EndedBy, refusal?: ApiError): void {
    this.refusal ??= refusal;
    this.controller.abort(by);
  }
}

@Injectable()
export class HeldReads implements OnModuleDestroy {
  private readonly held: Readonly<Record<ReadKind, Set<HeldRead>>> = { poll: new Set(), stream: new Set() };
  private readonly counts: Readonly<Record<ReadKind, Map<string, number>>> = { poll: new Map(), stream: new Map() };
  private readonly max: Readonly<Record<ReadKind, number>>;
  private isStopping = false;

  constructor(
    private readonly openCalls: OpenCalls,
    config: Config,
    metrics: Metrics,
  ) {
    this.max = { poll: config.http.longPollsMax, stream: config.http.streamsMax };
    addGaugeBy(
      metrics.registry,
      { name: 'event_reads_held', help: 'Open reads of events, by `kind`.', label: 'kind' },
      () => Object.entries(this.held).map(([kind, reads]) => [kind, reads.size]),
    );
  }

  /**
   * Runs `read`, which must end soon after its signal aborts. Throws 429 RATE_LIMITED at the project's limit. Throws
   * 503 SERVICE_UNAVAILABLE at the process's limit, and for a stream once the process stops.
   */
  async runHeld<T>(
    kind: ReadKind,
    caller: Caller,
    response: ServerResponse,
    read: (held: HeldRead) => Promise<T>,
  ): Promise<T> {
    const projectId = caller.project.id;
    const count = this.counts[kind].get(projectId) ?? 0;
    this.requireRoom(kind, count);
    const held = new HeldRead();
    const onClose = (): void => held.end('caller');
    const unwatch = this.openCalls.watch(caller, (refusal) => held.end('refusal', refusal));
    this.held[kind].add(held);
    this.counts[kind].set(projectId, count + 1);
    response.once('close', onClose);
    if (this.isStopping) held.end('stop');
    if (response.destroyed) held.end('caller');
    try {
      return await read(held);
    } finally {
      response.off('close', onClose);
      unwatch();
      this.held[kind].delete(held);
      this.uncount(kind, projectId);
    }
  }

  /** Ends all reads. Later waits end immediately. */
  releaseAll(): void {
    this.isStopping = true;
    for (const held of [...this.held.poll, ...this.held.stream]) held.end('stop');
  }

  onModuleDestroy(): void {
    this.releaseAll();
  }

  private requireRoom(kind: ReadKind, count: number): void {
    if (count >= PER_PROJECT[kind]) {
      const words = `A project can have at most ${PER_PROJECT[kind].toString()} ${NAMES[kind]} open at once. Close one first.`;
      throw new ApiError('RATE_LIMITED', words, { retryAfterSec: RETRY_AFTER_SEC });
    }
    if (this.held[kind].size >= this.max[kind]) throw serviceBusy(`The maximum number of ${NAMES[kind]} is open`);
    if (kind === 'stream' && this.isStopping) throw serviceBusy('This process stops');
  }

  private uncount(kind: ReadKind, projectId: string): void {
    const left = (this.counts[kind].get(projectId) ?? 1) - 1;
    if (left === 0) this.counts[kind].delete(projectId);
    else this.counts[kind].set(projectId, left);
  }
}
