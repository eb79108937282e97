/**
 * Streams and long polls held open for sessions. They end immediately with their session, in whichever process it was
 * ended, and with this process.
 */
import type { ServerResponse } from 'node:http';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Repeater } from '../../platform/support/repeat.js';
import { ApiError } from '../../domain/errors.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics, addGauge } from '../../platform/observability/metrics.js';
import { ListeningConnection } from '../../platform/database/listening-connection.js';
import { Sessions } from '../people/sessions.js';
import { Database } from '../../platform/database/database.js';

/** Also detects sessions that expire, which no announcement reports. */
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
  private readonly connection: ListeningConnection;
  private readonly looking: Repeater;

  constructor(
    private readonly sessions: Sessions,
    log: Log,
    database: Database,
    metrics: Metrics,
  ) {
    this.connection = new ListeningConnection({
      hosts: database.direct,
      channel: 'console_session_ended',
      applicationName: 'energy-sessions',
      log,
      onNotification: (sessionId) => this.endMatching((held) => held.sessionId === sessionId),
      // Earlier notifications may be lost.
      onListening: () => this.looking.nudge(),
    });
    this.looking = new Repeater({
      run: async () => {
        await this.checkSessions();
        await this.sessions.deleteExpired();
        return LOOK_EVERY_MS;
      },
      retryMs: LOOK_EVERY_MS,
      onFailure: (err) => log.warn({ err }, 'failed to look up ended sessions'),
    });
    addGauge(
      metrics.registry,
      'console_streams_open',
      'Open streams and long polls of signed-in people.',
      () => this.held.size,
    );
  }

  onApplicationBootstrap(): void {
    void this.connection.start();
    void this.looking.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.endAll();
    await Promise.all([this.looking.stop(), this.connection.stop()]);
  }

  /** Ends every stream, because the process is stopping. */
  endAll(): void {
    this.endMatching(() => true);
  }

  /**
   * Calls `end` once when the session ends or the process stops. Returns a function that releases the registration if
   * the stream ends by itself. Throws 429 if this session, or all together, hold too many.
   */
  hold(sessionId: string, end: () => void): () => void {
    const own = [...this.held].filter((held) => held.sessionId === sessionId).length;
    if (own >= OF_ONE_SESSION_MAX || this.held.size >= OF_ALL_MAX) {
      throw new ApiError('RATE_LIMITED', 'Too many streams are open. Close some pages.', { retryAfterSec: 5 });
    }
    const held: Held = { sessionId, end };
    this.held.add(held);
    return () => this.held.delete(held);
  }

  /**
   * Serves the session's stream of Server-Sent Events: `open`, and `ended` when the session ends. Resolves when the
   * stream closes.
   */
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
        // A client that reads nothing for this long is gone.
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
      // The session may have ended since the guard's check.
      this.checkSessions().catch(() => undefined);
    });
  }

  private endMatching(matches: (held: Held) => boolean): void {
    for (const held of [...this.held].filter(matches)) {
      this.held.delete(held);
      held.end();
    }
  }

  /** Ends streams of sessions that have ended. Ends none while the database is unavailable. */
  private async checkSessions(): Promise<void> {
    const ids = [...new Set([...this.held].map(({ sessionId }) => sessionId))];
    if (ids.length === 0) return;
    const alive = await this.sessions.findAlive(ids);
    this.endMatching(({ sessionId }) => ids.includes(sessionId) && !alive.has(sessionId));
  }
}
