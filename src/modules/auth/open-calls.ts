/**
 * Ends long-lived requests that would now be refused, after a change of the project or of the signing key. Immediately
 * when the change is announced, within 30 s when its announcement was lost (docs/interface.md §2).
 */
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { monotonicMs } from '../../platform/support/clock.js';
import { ApiError } from '../../domain/errors.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';
import { Log } from '../../platform/observability/logger.js';
import { ProjectDirectory } from '../projects/project-directory.js';

/** Together the longest delay of a change whose announcement was lost or that cannot be read. */
const LOOK_EVERY_MS = 5000;
const KNOWN_AGE_MS = 10_000;
const UNKNOWN_MS_MAX = 10_000;
/** Retry interval while projects cannot be read. */
const TICK_MS = 500;

interface OpenCall {
  readonly judgeAgain: Caller['judgeAgain'];
  readonly end: (refusal: ApiError) => void;
  /** The time of the last check that allowed it, and the time of the next check. */
  allowedMs: number;
  nextMs: number;
}

@Injectable()
export class OpenCalls implements OnModuleDestroy {
  private readonly calls = new Map<string, Set<OpenCall>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    directory: ProjectDirectory,
    private readonly log: Log,
  ) {
    directory.onChange((projectId) => {
      const changed = projectId === undefined ? [...this.calls.values()] : [this.calls.get(projectId) ?? []];
      for (const call of changed.flatMap((calls) => [...calls])) void this.judge(call);
    });
  }

  /** Calls `end` with the refusal once the request would be refused. Returns a function that stops watching. */
  watch({ project: { id }, judgeAgain }: Caller, end: (refusal: ApiError) => void): () => void {
    const nowMs = monotonicMs();
    const call: OpenCall = { judgeAgain, end, allowedMs: nowMs, nextMs: nowMs + LOOK_EVERY_MS };
    const calls = this.calls.get(id) ?? new Set();
    this.calls.set(id, calls.add(call));
    this.timer ??= setInterval(() => this.judgeDue(), TICK_MS).unref();
    return () => {
      if (calls.delete(call) && calls.size === 0) this.calls.delete(id);
      if (this.calls.size === 0) this.stop();
    };
  }

  onModuleDestroy(): void {
    this.stop();
  }

  private stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private judgeDue(): void {
    const nowMs = monotonicMs();
    for (const calls of this.calls.values()) {
      for (const call of calls) if (call.nextMs <= nowMs) void this.judge(call);
    }
  }

  private async judge(call: OpenCall): Promise<void> {
    const nowMs = monotonicMs();
    call.nextMs = nowMs + LOOK_EVERY_MS;
    try {
      await call.judgeAgain(KNOWN_AGE_MS);
      call.allowedMs = nowMs;
    } catch (thrown) {
      const isRefusal = thrown instanceof ApiError;
      if (!isRefusal) this.log.error({ err: thrown }, 'failed to re-check an open request');
      const refusal = isRefusal ? thrown : new ApiError('AUTH_UNAVAILABLE', 'The request can no longer be verified.');
      if (refusal.code === 'AUTH_UNAVAILABLE' && nowMs - call.allowedMs < UNKNOWN_MS_MAX) call.nextMs = nowMs + TICK_MS;
      else call.end(refusal);
    }
  }
}
