/**
 * Reads the answer of a webhook's receiver from raw bytes, within fixed bounds. It is as lenient as a status line
 * allows.
 */

/** Total of status lines and headers, including those of interim answers. */
const HEAD_BYTES_MAX = 262_144;
/** Limit per line; the rest of a longer line is skipped. */
const LINE_BYTES_MAX = 4096;
const BODY_BYTES_MAX = 4096;
const STATUS_LINE = /^HTTP\/\d(?:\.\d)?[ \t]+([1-9]\d\d)(?:[ \t].*)?$/;
const CHUNK_SIZE = /^[ \t]*([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i;
const SWITCHING_PROTOCOLS = 101;

export interface ReadAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The first bytes of the body. */
  readonly bytes: Buffer;
}

type Part = 'status' | 'headers' | 'body' | 'chunk size' | 'chunk' | 'chunk end';

/**
 * A separate parser, because the status line alone decides. Node's parser (llhttp) refuses whole answers for errors
 * after that line, even with `insecureHTTPParser`: headers over its limit, `Content-Length` beside `chunked`, a
 * truncated body. Request smuggling is impossible: one request is sent, and the connection is closed after it.
 */
export class AnswerReader {
  /** True if further bytes cannot change the answer. */
  isDone = false;
  private part: Part = 'status';
  private status: number | undefined;
  private line = '';
  private headBytes = 0;
  private retryAfter: string | undefined;
  private isChunked = false;
  private lengths: string[] = [];
  /** Bytes of the body or chunk that are still to come. */
  private leftBytes = Number.POSITIVE_INFINITY;
  private readonly body: Buffer[] = [];
  private bodyBytes = 0;

  /** Undefined until the status line of a final answer is complete. */
  get answer(): ReadAnswer | undefined {
    const { status, retryAfter, body } = this;
    return status === undefined ? undefined : { status, retryAfter, bytes: Buffer.concat(body) };
  }

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.isDone;) {
      const isData = this.part === 'body' || this.part === 'chunk';
      at += isData ? this.takeData(bytes.subarray(at)) : this.takeLine(bytes.subarray(at));
    }
  }

  /** Returns the number of consumed bytes. */
  private takeData(bytes: Buffer): number {
    const taken = Math.min(bytes.length, this.leftBytes);
    const kept = bytes.subarray(0, Math.min(taken, BODY_BYTES_MAX - this.bodyBytes));
    this.body.push(kept);
    this.bodyBytes += kept.length;
    this.leftBytes -= taken;
    if (this.bodyBytes >= BODY_BYTES_MAX) this.isDone = true;
    else if (this.leftBytes === 0) {
      if (this.part === 'chunk') this.part = 'chunk end';
      else this.isDone = true;
    }
    return taken;
  }

  /** Returns the number of consumed bytes. A line ends with LF, with or without CR before it. */
  private takeLine(bytes: Buffer): number {
    const end = bytes.indexOf(0x0a);
    const taken = end < 0 ? bytes.length : end + 1;
    this.headBytes += taken;
    const room = LINE_BYTES_MAX - this.line.length;
    if (room > 0) this.line += bytes.subarray(0, Math.min(end < 0 ? taken : end, room)).toString('latin1');
    if (this.headBytes > HEAD_BYTES_MAX) this.isDone = true;
    else if (end >= 0) {
      const line = this.line.replace(/\r$/, '');
      this.line = '';
      this.onLine(line);
    }
    return taken;
  }

  private onLine(line: string): void {
    if (this.part === 'status') this.onStatusLine(line);
    else if (this.part === 'headers') this.onHeader(line);
    else if (this.part === 'chunk end') this.part = 'chunk size';
    else {
      const [, size] = CHUNK_SIZE.exec(line) ?? [];
      this.leftBytes = size === undefined ? 0 : Number.parseInt(size, 16);
      if (this.leftBytes === 0) this.isDone = true;
      else this.part = 'chunk';
    }
  }

  private onStatusLine(line: string): void {
    if (line === '') return;
    const [, status] = STATUS_LINE.exec(line) ?? [];
    if (status === undefined) {
      this.isDone = true;
      return;
    }
    const code = Number(status);
    // An interim answer has only headers; the final answer follows.
    if (code >= 200 || code === SWITCHING_PROTOCOLS) this.status = code;
    this.part = 'headers';
  }

  private onHeader(line: string): void {
    if (line === '') {
      this.onHeadersEnd();
      return;
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'retry-after') this.retryAfter ??= value;
    if (name === 'content-length') this.lengths.push(value);
    if (name === 'transfer-encoding') this.isChunked = /(?:^|[,\s])chunked$/i.test(value);
  }

  private onHeadersEnd(): void {
    const { status, isChunked, lengths } = this;
    this.isChunked = false;
    this.lengths = [];
    if (status === undefined) {
      this.part = 'status';
      this.retryAfter = undefined;
      return;
    }
    const [length, ...others] = new Set(lengths);
    if (isChunked) this.part = 'chunk size';
    else this.part = 'body';
    // Without one valid length, the body ends with the connection.
    if (!isChunked && length !== undefined && others.length === 0 && /^\d{1,15}$/.test(length)) {
      this.leftBytes = Number(length);
    }
    if (status === SWITCHING_PROTOCOLS || status === 204 || status === 304 || this.leftBytes === 0) this.isDone = true;
  }
}
