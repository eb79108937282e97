/**
 * Serves the console's pages, the build output of packages/console, from memory. Files under assets/ have a hash in
 * their name and are cached for ever. Every other path of the console gets index.html with a fresh nonce, and with the
 * audience, which a page must show before sign-in.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ConsoleConfig } from '../../platform/config/console-config.js';
import { StartError } from '../../domain/errors.js';
import { ApiError } from '../../domain/errors.js';

const NONCE = '{{nonce}}';
const AUDIENCE = '{{audience}}';
const NONCE_BYTES = 16;
const BYTES_MAX = 20 * 1024 * 1024;
/** Smaller files are sent uncompressed, because compression would not save a packet. */
const COMPRESSED_FROM = 1024;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const IMMUTABLE = 'public, max-age=31536000, immutable';
const SHORT = 'public, max-age=3600';

interface PageFile {
  readonly type: string;
  readonly cacheControl: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer | undefined;
}

/** The policy of a page: only our scripts, styles of ours or with the page's nonce, no framing. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    'report-uri /csp-report',
  ].join('; ');
}

export class Pages {
  private readonly files = new Map<string, PageFile>();
  private readonly index: readonly string[];

  /** Reads all of `folder`. Throws StartError if it holds no pages. */
  constructor(folder: string, audience: ConsoleConfig['audience']) {
    let bytes = 0;
    for (const entry of entriesOf(folder)) {
      const path = join(entry.parentPath, entry.name);
      const content = readFileSync(path);
      bytes += content.length;
      if (bytes > BYTES_MAX)
        throw new StartError('CONFIGURATION', `${folder} contains files other than pages. Build it again.`);
      const url = `/${relative(folder, path).split(sep).join('/')}`;
      this.files.set(url, fileOf(url, content));
    }
    const index = this.files.get('/index.html')?.bytes.toString('utf8') ?? '';
    this.index = index.replaceAll(AUDIENCE, audience).split(NONCE);
    this.files.delete('/index.html');
  }

  /** Answers a request for a page or file. Throws 404 for a missing file, and 405. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ApiError('METHOD_NOT_ALLOWED', 'This path answers GET, HEAD.', { headers: { Allow: 'GET, HEAD' } });
    }
    const [path = ''] = (request.url ?? '').split('?', 1);
    const file = this.files.get(path);
    if (file !== undefined) {
      send(request, response, file);
      return;
    }
    if (path.startsWith('/assets/') || extname(path) !== '') throw new ApiError('NOT_FOUND', 'There is no such file.');
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    response.setHeader('Content-Security-Policy', policyOf(nonce));
    const bytes = Buffer.from(this.index.join(nonce));
    const cacheControl = 'no-store';
    send(request, response, { type: 'text/html; charset=utf-8', cacheControl, bytes, gzipped: undefined });
  }
}

function entriesOf(folder: string) {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    if (entries.some(({ name }) => name === 'index.html')) return entries;
  } catch {
    // Falls through to the error below: the remedy is the same for every problem with the directory.
  }
  throw new StartError('CONFIGURATION', `The pages of the console are missing from ${folder}. Run npm run build.`);
}

function fileOf(url: string, bytes: Buffer): PageFile {
  const type = TYPES[extname(url)] ?? 'application/octet-stream';
  const isText = /^(text|image\/svg|application\/manifest)/.test(type);
  return {
    type,
    cacheControl: url.startsWith('/assets/') ? IMMUTABLE : SHORT,
    bytes,
    gzipped: isText && bytes.length >= COMPRESSED_FROM ? gzipSync(bytes, { level: 9 }) : undefined,
  };
}

function send(request: IncomingMessage, response: ServerResponse, file: PageFile): void {
  const acceptsGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
  const body = acceptsGzip && file.gzipped !== undefined ? file.gzipped : file.bytes;
  if (file.gzipped !== undefined) response.setHeader('Vary', 'Accept-Encoding');
  if (body !== file.bytes) response.setHeader('Content-Encoding', 'gzip');
  response.setHeader('Content-Type', file.type);
  response.setHeader('Cache-Control', file.cacheControl);
  response.setHeader('Content-Length', body.length);
  response.statusCode = 200;
  response.end(request.method === 'HEAD' ? undefined : body);
}
