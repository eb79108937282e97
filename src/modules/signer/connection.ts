/**
 * One peer of the signer: lines in, lines out, each bounded. Reading pauses while answers are in progress or unread, so
 * a peer can never make the signer hold more than a few of its lines.
 */
import type { Socket } from 'node:net';
import { monotonicMs } from '../../platform/support/clock.js';

const LINE_BYTES_MAX = 8 * 1024;
/** Answers in progress per peer; more would only wait for the same disk. */
const IN_PROGRESS_MAX = 64;
/** Bytes of unread answers above which no further line is read; a list of all wallets fits. */
const UNREAD_BYTES_MAX = 256 * 1024;
/** Time for which a peer may leave answers unread. */
const UNREAD_MS = 5_000;
/** Idle connections are closed; a worker reconnects when it has something to sign. */
const IDLE_MS = 300_000;

/** The answer to one line. `isLast` closes the connection after it. */
export interface Reply {
  readonly line: string;
  readonly isLast?: boolean;
}

export class Connection {
  private pending = '';
  private inProgress = 0;
  private unreadTimer: NodeJS.Timeout | undefined;
  private isEnding = false;
  /** Monotonic time of the last answer; 0 before the first. */
  private answeredAtMs = 0;

  constructor(
    private readonly socket: Socket,
    private readonly answer: (line: string) => Promise<Reply>,
    onClosed: () => void,
  ) {
    socket.setEncoding('latin1');
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(this.unreadTimer);
      onClosed();
    });
    socket.on('drain', () => {
      clearTimeout(this.unreadTimer);
      this.unreadTimer = undefined;
      this.takeLines();
    });
    socket.on('data', (chunk) => {
      this.pending += String(chunk);
      this.takeLines();
    });
  }

  /** True if no request of the peer is in progress. */
  get isIdle(): boolean {
    return this.inProgress === 0;
  }

  /** Smaller for peers that have been silent longer; 0 for those that never sent a request. */
  get lastAnswerMs(): number {
    return this.answeredAtMs;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private takeLines(): void {
    while (!this.socket.destroyed && !this.isEnding && this.mayTake) {
      const end = this.pending.indexOf('\n');
      if (end < 0) break;
      if (end > LINE_BYTES_MAX) {
        this.socket.destroy();
        return;
      }
      const line = this.pending.slice(0, end);
      this.pending = this.pending.slice(end + 1);
      this.inProgress += 1;
      void this.reply(line);
    }
    if (this.mayTake && this.pending.length > LINE_BYTES_MAX) this.socket.destroy();
    else if (this.mayTake) this.socket.resume();
    else this.socket.pause();
  }

  private get mayTake(): boolean {
    return this.inProgress < IN_PROGRESS_MAX && this.socket.writableLength <= UNREAD_BYTES_MAX;
  }

  private async reply(line: string): Promise<void> {
    const { line: said, isLast } = await this.answer(line);
    this.inProgress -= 1;
    this.answeredAtMs = monotonicMs();
    if (this.socket.destroyed) return;
    if (isLast === true) {
      this.isEnding = true;
      this.socket.end(`${said}\n`, () => this.socket.destroy());
      this.awaitReading();
      return;
    }
    if (!this.socket.write(`${said}\n`)) this.awaitReading();
    this.takeLines();
  }

  private awaitReading(): void {
    this.unreadTimer ??= setTimeout(() => this.socket.destroy(), UNREAD_MS);
  }
}
