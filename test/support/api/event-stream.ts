// A reader of Server-Sent Events, written from the standard alone: lines, `id`, `data`, comments, an empty line.
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { hmacHeaders, type Customer } from './client.js';
import { keepSaid } from '../../setup/canary.js';

export interface StreamedEvent {
  readonly id: string;
  readonly type: string;
  readonly position: number;
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface StreamStart {
  readonly query?: string;
  readonly lastId?: string | undefined;
}

/** One open stream. It reads continuously unless it is paused. */
export class EventStream {
  readonly events: StreamedEvent[] = [];
  comments = 0;
  lastId: string | undefined;
  /** Ended by the server, or broken off. */
  readonly ended: Promise<'ended' | 'broken'>;
  isOver = false;
  private pending = '';
  private data: string[] = [];

  private constructor(
    private readonly request: ClientRequest,
    private readonly response: IncomingMessage,
  ) {
    response.setEncoding('utf8');
    this.ended = new Promise((resolve) => {
      response.on('end', () => resolve('ended'));
      response.on('error', () => resolve('broken'));
      response.on('close', () => resolve(response.complete ? 'ended' : 'broken'));
    });
    void this.ended.then(() => (this.isOver = true));
    response.on('data', (text: string) => this.take(text));
  }

  /**
   * Resolves once the stream has begun. Throws a refusal with its status and body; a timestamp refusal is retried once.
   */
  static async open(customer: Customer, from: StreamStart = {}): Promise<EventStream> {
    try {
      return await EventStream.openOnce(customer, from);
    } catch (thrown) {
      if (!(thrown instanceof StreamRefused) || thrown.body['server_time'] === undefined) throw thrown;
      return EventStream.openOnce(customer, from, thrown.body['server_time'] as number);
    }
  }

  private static async openOnce(
    { baseUrl, merchant, apiKey }: Customer,
    { query = '', lastId }: StreamStart,
    timestamp = Math.floor(Date.now() / 1000),
  ): Promise<EventStream> {
    const { hostname, port } = new URL(baseUrl);
    const path = `/v1/events/stream${query}`;
    const resume = lastId === undefined ? {} : { 'Last-Event-ID': lastId };
    const headers = { ...hmacHeaders(merchant, apiKey, { method: 'GET', path, timestamp }), ...resume };
    return new Promise((resolve, reject) => {
      const request = httpRequest({ agent: false, hostname, port, path, headers }, (response) => {
        if (response.statusCode === 200) {
          resolve(new EventStream(request, response));
          return;
        }
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          keepSaid('answers', text);
          reject(new StreamRefused(response.statusCode ?? 0, JSON.parse(text) as StreamRefused['body']));
        });
      });
      request.on('error', reject);
      request.end();
    });
  }

  get contentType(): string | undefined {
    return this.response.headers['content-type'];
  }

  get positions(): number[] {
    return this.events.map(({ position }) => position);
  }

  /** Stops reading. */
  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  /** Breaks the connection. */
  cut(): void {
    this.request.destroy();
  }

  private take(text: string): void {
    // The padding of large test events holds no secret.
    keepSaid('answers', text.replace(/x{100,}/g, ''));
    this.pending += text;
    const lines = this.pending.split('\n');
    this.pending = lines.pop() ?? '';
    for (const line of lines) this.takeLine(line);
  }

  private takeLine(line: string): void {
    if (line === '') {
      if (this.data.length > 0) this.events.push(JSON.parse(this.data.join('\n')) as StreamedEvent);
      this.data = [];
      this.lastId = this.nextId ?? this.lastId;
      return;
    }
    const colon = line.indexOf(':');
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (field === '') this.comments += 1;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id') this.nextId = value;
    else throw new Error(`a line that no stream of events has: ${line}`);
  }

  private nextId: string | undefined;
}

export class StreamRefused extends Error {
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
  ) {
    super(`${status.toString()} ${String(body['error'])}`);
  }
}
