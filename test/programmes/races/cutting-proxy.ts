// A proxy in front of Postgres that cuts the connection at one statement: before sending it, or after it, losing the
// answer.
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

export type Moment = 'before COMMIT' | 'after COMMIT';

export interface CuttingProxy {
  readonly url: string;
  /** Cuts at the next matching statement. */
  readonly arm: (moment: Moment) => void;
  readonly cuts: () => number;
  readonly close: () => Promise<void>;
}

/** Forwards everything to Postgres, but cuts the connection at an armed statement that contains any of these words. */
export async function openCuttingProxy(databaseUrl: string, ...words: readonly string[]): Promise<CuttingProxy> {
  const target = new URL(databaseUrl);
  let armed: Moment | undefined;
  let cuts = 0;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let isDoomed = false;
    const end = () => {
      near.destroy();
      far.destroy();
    };
    near.on('data', (chunk) => {
      if (armed !== undefined && words.some((word) => chunk.includes(word))) {
        const moment = armed;
        armed = undefined;
        cuts += 1;
        if (moment === 'before COMMIT') {
          end();
          return;
        }
        isDoomed = true;
      }
      far.write(chunk);
    });
    // Postgres answers an implicit transaction after its commit, so this answer proves the commit.
    far.on('data', (chunk) => {
      if (isDoomed) end();
      else near.write(chunk);
    });
    for (const socket of [near, far]) {
      socket.on('error', end);
      socket.on('close', end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = (server.address() as AddressInfo).port.toString();
  return {
    url: url.href,
    arm: (moment) => {
      armed = moment;
    },
    cuts: () => cuts,
    close: async () => {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
