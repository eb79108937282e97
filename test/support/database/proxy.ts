// A TCP proxy that a test can cut, so that one process alone loses its database or Redis.
import { connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  /** The target URL through the proxy. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  readonly cut: () => void;
  /** Keeps connections and accepts new ones, but forwards nothing: the server seems to hang. */
  readonly stall: () => void;
  readonly mend: () => void;
  readonly close: () => Promise<void>;
}

export async function openProxy(targetUrl: string): Promise<Proxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'stalled' = 'open';
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (state !== 'stalled') to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = address.port.toString();
  const breakAll = () => sockets.forEach((socket) => socket.destroy());
  return {
    url: url.href,
    cut: () => {
      state = 'cut';
      breakAll();
    },
    stall: () => (state = 'stalled'),
    mend: () => {
      // The bytes that a stalled connection swallowed are lost, so its connections must break.
      if (state === 'stalled') breakAll();
      state = 'open';
    },
    close: async () => {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Starts a proxy that loses the answer to one commit: of the first transaction after a statement with this text. The
 * server has committed, and the process sees a lost connection.
 */
export async function openForgetfulProxy(targetUrl: string, text: string): Promise<Pick<Proxy, 'url' | 'close'>> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let isSpent = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let state: 'open' | 'armed' | 'committing' = 'open';
    near.on('data', (chunk) => {
      if (!isSpent && chunk.includes(text)) state = 'armed';
      if (state === 'armed' && chunk.includes('COMMIT')) state = 'committing';
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (state === 'committing') {
        isSpent = true;
        near.destroy();
      } else near.write(chunk);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = (server.address() as { port: number }).port.toString();
  return {
    url: url.href,
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
