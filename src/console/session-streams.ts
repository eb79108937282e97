/**
 * What is held open for a session: its streams and long polls. They end with it at once, whatever process ended it, and
 * with the process.
 */
import type { ServerResponse } from 'node:http';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Repeater } from '../base/repeat.js';
import { ApiError } from '../domain/errors.js';
import { Log } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { SessionFeed } from '../people/session-feed.js';
import { Sessions } from '../people/sessions.js';
import { Database } from '../store/database.js';

/** Also what no announcement says: a session that ends by its age. */
const LOOK_EVERY_MS = 20_000;
const COMMENT_EVERY_MS = 15_000;
const OF_ONE_SESSION_MAX = 8;
const OF_ALL_MAX = 2000;

interface Held {
  readonly sessionId: string;
  readonly end: () => void;
}

@Injectable()
export class SessionStreams implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly held = new Set<Held>();
  private readonly feed: SessionFeed;
  private readonly looking: Repeater;

  constructor(
    private readonly sessions: Sessions,
    log: Log,
    database: Database,
    metrics: Metrics,
  ) {
    const heard = {
      onEnded: (sessionId: string) => this.endOf((held) => held.sessionId === sessionId),
      onListening: () => this.looking.nudge(),
    };
    this.feed = new SessionFeed(database.direct, heard, log);
    this.looking = new Repeater({
      run: async () => {
        await this.look();
        await this.sessions.forgetPast();
        return LOOK_EVERY_MS;
      },
      retryMs: LOOK_EVERY_MS,
      onFailure: (err) => log.warn({ err }, 'Sessions that have ended could not be looked up.'),
    });
    const { held } = this;
    new Gauge({
      name: 'console_streams_open',
      help: 'Streams and long polls that are held open for signed-in people.',
      registers: [metrics.registry],
      collect() {
        this.set(held.size);
      },
    });
  }

  onApplicationBootstrap(): void {
    this.feed.start();
    void this.looking.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.endAll();
    await Promise.all([this.looking.stop(), this.feed.stop()]);
  }

  /** Every stream ends now: the process is stopping. */
  endAll(): void {
    this.endOf(() => true);
  }

  /**
   * Calls `end` once when the session ends, or the process stops. Returns what releases it, to be called when it is over
   * by itself. Throws 429 when this session, or all together, hold too many.
   */
  hold(sessionId: string, end: () => void): () => void {
    const own = [...this.held].filter((held) => held.sessionId === sessionId).length;
    if (own >= OF_ONE_SESSION_MAX || this.held.size >= OF_ALL_MAX) {
      throw new ApiError('RATE_LIMITED', 'Too many streams are open; close some pages.', { retryAfterSec: 5 });
    }
    const held: Held = { sessionId, end };
    this.held.add(held);
    return () => this.held.delete(held);
  }

  /** The session's own stream of Server-Sent Events: says `open`, and `ended` when it has. Resolves with the stream. */
  async serve(sessionId: string, response: ServerResponse): Promise<void> {
    await new Promise<void>((resolve) => {
      const say = (type: 'open' | 'ended'): void => {
        response.write(`event: session\ndata: ${JSON.stringify({ type })}\n\n`);
      };
      const release = this.hold(sessionId, () => {
        say('ended');
        response.end();
      });
      const comments = setInterval(() => {
        // Who takes nothing for as long is gone.
        if (response.writableNeedDrain) response.destroy();
        else response.write(': here\n\n');
      }, COMMENT_EVERY_MS);
      response.once('close', () => {
        clearInterval(comments);
        release();
        resolve();
      });
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
      say('open');
      // It may have ended between the guard's look and now.
      this.look().catch(() => undefined);
    });
  }

  private endOf(isMeant: (held: Held) => boolean): void {
    for (const held of [...this.held].filter(isMeant)) {
      this.held.delete(held);
      held.end();
    }
  }

  /** Ends what is held for sessions that have ended. A database that is away ends nothing. */
  private async look(): Promise<void> {
    const ids = [...new Set([...this.held].map(({ sessionId }) => sessionId))];
    if (ids.length === 0) return;
    const alive = await this.sessions.aliveOf(ids);
    this.endOf(({ sessionId }) => ids.includes(sessionId) && !alive.has(sessionId));
  }
}
