// A TCP proxy in front of Postgres. While armed, it forwards a write, waits for the server's answer, and breaks the
// connection instead of forwarding that answer: the client cannot know if its write was committed.
import { connect, createServer, type Socket } from 'node:net';

export interface CommitProxy {
  readonly url: string;
  /** Lost answers to writes so far. */
  readonly cuts: number;
  /** Sets the probability that a write's answer is lost; 0 heals. */
  arm(rate: number, random: () => number): void;
  /** Breaks every connection and refuses new ones until called with false. */
  refuse(isRefusing: boolean): void;
  close(): Promise<void>;
}

/** A COMMIT, or a named statement that writes as its own transaction. */
const WRITES = /COMMIT|accept-order|claim_due|claim_ending|release_orders|record_|undo_order|order_unresolved/;

export async function openCommitProxy(target: { readonly url: string }): Promise<CommitProxy> {
  const { hostname, port } = new URL(target.url);
  const sockets = new Set<Socket>();
  let rate = 0;
  let random = (): number => 1;
  let cuts = 0;
  let isClosed = false;
  const server = createServer((near) => {
    if (isClosed) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    let isDoomed = false;
    const breakBoth = (): void => {
      near.destroy();
      far.destroy();
    };
    near.on('data', (chunk) => {
      if (rate > 0 && WRITES.test(chunk.toString('latin1')) && random() < rate) isDoomed = true;
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (!isDoomed) {
        near.write(chunk);
        return;
      }
      cuts += 1;
      breakBoth();
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', breakBoth);
      socket.on('close', () => {
        sockets.delete(socket);
        breakBoth();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const url = new URL(target.url);
  url.port = address.port.toString();
  return {
    url: url.href,
    get cuts() {
      return cuts;
    },
    arm: (chance, by) => {
      rate = chance;
      random = by;
    },
    refuse: (isRefusing) => {
      isClosed = isRefusing;
      if (isRefusing) sockets.forEach((socket) => socket.destroy());
    },
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
