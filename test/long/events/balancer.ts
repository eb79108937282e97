// A minimal TCP load balancer: round robin over the members whose /ready succeeds. It never retries.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { sleep } from '../../../src/platform/support/clock.js';
import { probe, type ServiceProcess } from '../../support/api/processes.js';

const PROBE_MS = 100;

export interface Balancer {
  readonly url: string;
  add(member: ServiceProcess): void;
  remove(member: ServiceProcess): void;
  readonly close: () => Promise<void>;
}

export async function openBalancer(): Promise<Balancer> {
  const members = new Map<ServiceProcess, boolean>();
  const sockets = new Set<Socket>();
  const stopping = new AbortController();
  let turn = 0;
  const server = createServer((near) => {
    const ready = [...members].filter(([, isReady]) => isReady).map(([member]) => member);
    const member = ready[turn++ % Math.max(1, ready.length)];
    if (member === undefined) {
      near.destroy();
      return;
    }
    const far = connect(Number(new URL(member.baseUrl).port), '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const look = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      for (const member of [...members.keys()]) {
        const isReady = (await probe(`${member.adminUrl}/ready`)) === 200;
        if (members.has(member)) members.set(member, isReady);
      }
      await sleep(PROBE_MS, stopping.signal);
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const looking = look();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`,
    add: (member) => void members.set(member, false),
    remove: (member) => void members.delete(member),
    close: async () => {
      stopping.abort();
      await looking;
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
