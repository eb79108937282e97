// A faulty HTTP proxy between a client and the service. It loses, delays or repeats requests. It loses, delays,
// truncates or replaces answers. A seed selects the fault of each request.
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export const FAULTS = [
  'request lost',
  'request late',
  'request twice',
  'answer lost',
  'answer late',
  'answer cut short',
  'answer of another request',
  'bad gateway',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyProxy {
  readonly baseUrl: string;
  /** Number of occurrences of each fault. */
  readonly happened: ReadonlyMap<Fault, number>;
  /** Breaks every open connection. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
}

interface Faulty {
  readonly targetUrl: string;
  /** Percentage of requests that go wrong. */
  readonly percent: number;
  readonly faults: readonly Fault[];
  /** Delay of late requests and answers. */
  readonly lateMs: number;
  readonly seed: number;
}

interface Passed {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

export async function openFaultyProxy({ targetUrl, percent, faults, lateMs, seed }: Faulty): Promise<FaultyProxy> {
  const { hostname, port } = new URL(targetUrl);
  const random = randomOf(seed);
  const happened = new Map<Fault, number>();
  const running = new Set<Promise<void>>();
  let previous: Passed | undefined;

  const pass = async (request: IncomingMessage, body: Buffer): Promise<Passed> => {
    const sent = httpRequest({
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: request.rawHeaders,
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, headers: answer.rawHeaders, body: await textOf(answer) };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await textOf(request);
    const fault = random() * 100 < percent ? faults[Math.floor(random() * faults.length)] : undefined;
    if (fault !== undefined) happened.set(fault, (happened.get(fault) ?? 0) + 1);
    if (fault === 'request lost') return void request.socket.destroy();
    if (fault === 'request late') {
      request.socket.destroy();
      await sleep(lateMs);
      await pass(request, body);
      return;
    }
    const passed = await pass(request, body);
    if (fault === 'answer lost') return void request.socket.destroy();
    if (fault === 'bad gateway') return void response.writeHead(502).end('<html>Bad Gateway</html>');
    if (fault === 'answer late') await sleep(lateMs);
    const answer =
      fault === 'request twice' ? await pass(request, body) : fault === 'answer of another request' ? previous : passed;
    previous = passed;
    const { status, headers, body: text } = answer ?? passed;
    response.writeHead(status, [...headers]);
    if (fault !== 'answer cut short') return void response.end(text);
    response.write(text.subarray(0, text.length / 2), () => request.socket.destroy());
  };

  const server = createServer((request, response) => {
    const served = serve(request, response)
      // The service or the caller may be gone.
      .catch(() => {
        request.socket.destroy();
      })
      .finally(() => running.delete(served));
    running.add(served);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`,
    happened,
    cut: () => server.closeAllConnections(),
    close: async () => {
      // Delayed requests and answers are still pending.
      while (running.size > 0) await Promise.all(running);
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Returns numbers from 0 up to 1, reproducible by seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
