// A node's HTTP server: paths, methods, bodies, and one interceptor for every request, where faults are injected.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { NodeError } from './errors.js';
import { type Json, type JsonNode, JsonSyntaxError, flagOf, member, nodeOfQuery, printJson, readJson } from './json.js';
import { LATEST, type Version } from './parameters.js';
import { ProtobufError } from './schema.js';

const BODY_MAX = 4 * 1024 * 1024;
const BODY_WAIT_MS = 15_000;
/** Answers whose numbers stay numbers whatever the query says. TRON: their servlets do not read the flag. */
const PLAIN_NUMBERS: ReadonlySet<string> = new Set([
  'getnowblock',
  'getnodeinfo',
  'getenergyprices',
  'getbandwidthprices',
  'getdelegatedresourceaccountindexv2',
  'getreward',
  'getbrokerage',
]);

/** A body beyond the limit. */
class BodyTooLarge extends NodeError {
  constructor() {
    super('java.lang.Exception', `body size is too big, the limit is ${String(BODY_MAX)}`);
  }
}

/** TRON: HttpService.OversizedRequestErrorHandler, which prints Jetty's page for a bad message. */
const TOO_LARGE: Response = {
  status: 413,
  type: 'text/html;charset=iso-8859-1',
  body: '<h1>Bad Message 413</h1><pre>reason: Payload Too Large</pre>',
};

export interface Request {
  /** For example wallet/getaccount. */
  readonly path: string;
  readonly body: JsonNode;
  /** The original body: error messages refer to its columns. */
  readonly source: string;
  readonly visible: boolean;
}
export interface Response {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}
export type Handler = (request: Request) => Json | Promise<Json>;
/** Runs before every endpoint of a port. It may answer itself, wait, or change the answer. Faults use it. */
export type Intercept = (
  port: 'full' | 'solid',
  request: Request,
  answer: () => Promise<Response>,
) => Promise<Response | 'cut'>;

export const passThrough: Intercept = (_port, _request, answer) => answer();

const EMPTY_OBJECT: JsonNode = { kind: 'object', at: 0, raw: '{}', fields: new Map() };

function readBody(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      reject(new Error('the body did not arrive in time'));
    }, BODY_WAIT_MS);
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_MAX) chunks.push(chunk);
    });
    message.on('end', () => {
      clearTimeout(timer);
      if (size > BODY_MAX) reject(new BodyTooLarge());
      else resolve(Buffer.concat(chunks).toString('utf8'));
    });
    message.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}

/** Returns the node's answer for an error thrown by a handler. */
export function errorJson(error: unknown): Json {
  return { Error: `class ${javaClassOf(error)} : ${error instanceof Error ? error.message : String(error)}` };
}

export function javaClassOf(error: unknown): string {
  if (error instanceof NodeError) return error.javaClass;
  if (error instanceof JsonSyntaxError) return 'com.alibaba.fastjson.JSONException';
  if (error instanceof ProtobufError) return 'com.google.protobuf.InvalidProtocolBufferException';
  return 'java.lang.RuntimeException';
}

function html(status: number, title: string): Response {
  const text = `Error ${String(status)} ${title}`;
  return {
    status,
    type: 'text/html;charset=iso-8859-1',
    body: `<html><head><title>${text}</title></head><body><h2>HTTP ERROR ${String(status)} ${title}</h2></body></html>\n`,
  };
}

/** Serves one port of a node. */
export class Port {
  readonly server: Server;
  constructor(
    private readonly name: 'full' | 'solid',
    private readonly handlers: ReadonlyMap<string, Handler>,
    private readonly intercept: () => Intercept,
    private readonly version: () => Version = () => LATEST,
  ) {
    this.server = createServer((message, response) => {
      this.serve(message, response).catch((error: unknown) => {
        if (!response.headersSent) write(response, this.refusalOf(error));
        else response.destroy();
      });
    });
    this.server.keepAliveTimeout = 65_000;
  }

  /** TRON: since 4.8.2 Jetty refuses a body beyond the limit (SizeLimitHandler); before, the servlet did. */
  private refusalOf(error: unknown): Response {
    if (error instanceof BodyTooLarge && this.version() !== '4.8.0') return TOO_LARGE;
    return { status: 200, body: printJson(errorJson(error)) };
  }

  /** TRON: since 4.8.2 a GET may ask for 64-bit integers as strings. */
  private quotesInt64(path: string, query: URLSearchParams): boolean {
    const asked = query.get('int64_as_string') === 'true' && this.version() !== '4.8.0';
    return asked && !PLAIN_NUMBERS.has(path.slice(path.lastIndexOf('/') + 1));
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(message.url ?? '/', 'http://devnet');
    const path = url.pathname.replace(/^\/+/, '').toLowerCase();
    const isPost = message.method === 'POST';
    const source = isPost ? await readBody(message) : '';
    const handler = this.handlers.get(path);
    if (handler === undefined || (!isPost && message.method !== 'GET')) {
      write(response, isPost || handler !== undefined ? html(405, 'Method Not Allowed') : html(404, 'Not Found'));
      return;
    }
    const body: Body = isPost ? bodyOf(source) : { node: nodeOfQuery(url.searchParams) };
    const request: Request = { path, body: body.node, source, visible: flagOf(member(body.node, 'visible')) };
    const quotes = !isPost && this.quotesInt64(path, url.searchParams);
    const answer = async (): Promise<Response> => {
      if (body.error !== undefined) return { status: 200, body: printJson(errorJson(body.error)) };
      try {
        return { status: 200, body: printJson(await handler(request), quotes) };
      } catch (error) {
        return { status: 200, body: printJson(errorJson(error)) };
      }
    };
    const result = await this.intercept()(this.name, request, answer);
    if (result === 'cut') message.socket.destroy();
    else write(response, result);
  }

  /** Listens on 127.0.0.1 (or `host`); resolves to the port number. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => {
        const address = this.server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }
}

interface Body {
  readonly node: JsonNode;
  readonly error?: unknown;
}

function bodyOf(source: string): Body {
  if (source.trim() === '') return { node: EMPTY_OBJECT };
  try {
    return { node: readJson(source) };
  } catch (error) {
    return { node: EMPTY_OBJECT, error };
  }
}

function write(response: ServerResponse, { status, body, type }: Response): void {
  const headers = {
    'content-type': type ?? 'application/json;charset=utf-8',
    'content-length': Buffer.byteLength(body, 'utf8'),
  };
  // A string is sent together with its headers in one system call; bytes would need two.
  response.writeHead(status, headers).end(body, 'utf8');
}
