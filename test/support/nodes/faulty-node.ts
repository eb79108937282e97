// A proxy in front of a real node. It forwards and counts every request, and misbehaves on demand.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type Fault =
  /** Breaks the connection. */
  | { readonly kind: 'down' }
  /** Forwards every request, and breaks the connection instead of every n-th answer. */
  | { readonly kind: 'drops'; readonly every: number }
  /** Answers correctly after a delay. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Answers this body instead, always or `times` times; only to requests with this API key, if one is given. */
  | {
      readonly kind: 'says';
      readonly status?: number;
      readonly body: string;
      readonly times?: number;
      readonly key?: string;
    };

export interface FaultyNode {
  readonly url: string;
  /** Number of requests per path, for example `wallet/getaccount`. */
  readonly asked: ReadonlyMap<string, number>;
  /** The API key of each request, in order. */
  readonly keys: readonly (string | undefined)[];
  /**
   * Applies a fault to all paths or to those named. `wallet/getblock whole` means requests for a block with its
   * transactions.
   */
  readonly fail: (fault: Fault, ...paths: readonly string[]) => void;
  /** Reads the node's current answer and repeats it from now on. */
  readonly freeze: (path: string) => Promise<void>;
  readonly mend: () => void;
  readonly close: () => Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function forward(target: string, path: string, body: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${target}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, text: await response.text() };
}

/** Opens a proxy for the full node at `target`. */
export async function openFaultyNode(target: string): Promise<FaultyNode> {
  const asked = new Map<string, number>();
  const keys: (string | undefined)[] = [];
  const faults = new Map<string, Fault>();
  let everywhere: Fault | undefined;
  let dropped = 0;
  let said = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').slice(1);
    const body = await bodyOf(request);
    asked.set(path, (asked.get(path) ?? 0) + 1);
    const key = request.headers['tron-pro-api-key'] as string | undefined;
    keys.push(key);
    const isWhole = path.endsWith('/getblock') && body.includes('"detail":true');
    const fault = (isWhole ? faults.get(`${path} whole`) : undefined) ?? faults.get(path) ?? everywhere;
    if (fault?.kind === 'down') {
      response.destroy();
      return;
    }
    const isMeant = fault?.kind === 'says' && (fault.key ?? key) === key;
    if (isMeant && said < (fault.times ?? Number.POSITIVE_INFINITY)) {
      said += 1;
      response.writeHead(fault.status ?? 200, { 'content-type': 'application/json' }).end(fault.body);
      return;
    }
    if (fault?.kind === 'slow') {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, fault.ms);
        response.on('close', () => {
          clearTimeout(timer);
          resolve(undefined);
        });
      });
      if (response.destroyed) return;
    }
    const { status, text } = await forward(target, path, body);
    if (fault?.kind === 'drops') {
      dropped += 1;
      if (dropped % fault.every === 0) {
        response.destroy();
        return;
      }
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the faulty node has no port');
  return {
    url: `http://127.0.0.1:${address.port.toString()}`,
    asked,
    keys,
    fail: (fault, ...paths) => {
      said = 0;
      if (paths.length === 0) everywhere = fault;
      for (const path of paths) faults.set(path, fault);
    },
    freeze: async (path) => {
      faults.set(path, { kind: 'says', body: (await forward(target, path, '{}')).text });
    },
    mend: () => {
      everywhere = undefined;
      faults.clear();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
