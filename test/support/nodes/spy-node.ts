// A proxy in front of a real node that lets a test observe or change each exchange.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/**
 * The fate of a request: forwarded (undefined), answered with this text, or its connection broken before or after the
 * node.
 */
export type Meddling = { readonly says: string; readonly status?: number } | 'break' | 'break-after' | undefined;

export interface SpyNode {
  readonly url: string;
  /** Called before a request is forwarded. */
  before: (path: string, body: string) => Promise<Meddling> | Meddling;
  /** Called when the real node has answered, before the proxy forwards the answer. */
  after: (path: string) => Promise<void> | void;
  /** Returns the text to send instead of the real node's answer. */
  change: (path: string, text: string) => string;
  /** Forwards everything unchanged again. */
  readonly rest: () => void;
  readonly close: () => Promise<void>;
}

const LIMIT_MS = 10_000;

export async function openSpyNode(target: string): Promise<SpyNode> {
  const exchange = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const path = (request.url ?? '').slice(1);
    const meddling = await spy.before(path, body);
    if (meddling === 'break') {
      response.destroy();
      return;
    }
    if (typeof meddling === 'object') {
      response.writeHead(meddling.status ?? 200, { 'content-type': 'application/json' }).end(meddling.says);
      return;
    }
    const answer = await fetch(`${target}/${path}`, { method: 'POST', body, signal: AbortSignal.timeout(LIMIT_MS) });
    const text = await answer.text();
    await spy.after(path);
    if (meddling === 'break-after') response.destroy();
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(spy.change(path, text));
  };
  const server = createServer((request, response) => {
    exchange(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the spy has no port');
  const spy: SpyNode = {
    url: `http://127.0.0.1:${address.port.toString()}`,
    before: () => undefined,
    after: () => undefined,
    change: (_path, text) => text,
    rest: () => {
      spy.before = () => undefined;
      spy.after = () => undefined;
      spy.change = (_path, text) => text;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return spy;
}
