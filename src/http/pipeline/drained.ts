/** How long a caller takes nothing of an answer. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Whether all that was written has left this process, within `ms`; false too once `signal` aborts. */
export async function drained(response: ServerResponse, ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isDrained: boolean) => (): void => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      signal.removeEventListener('abort', onEnd);
      resolve(isDrained);
    };
    const onDrain = settle(true);
    const onEnd = settle(false);
    const timer = setTimeout(onEnd, ms);
    response.on('drain', onDrain);
    signal.addEventListener('abort', onEnd);
    if (signal.aborted) onEnd();
  });
}

/** What of a connection has not reached the system yet is in its handle alone; Node's own time limits go by it too. */
type WithHandle = Socket & { readonly _handle?: { readonly writeQueueSize: number } | null };

/**
 * Ends the connection of `response` when that is finished and nothing of it was taken for `ms`: who asks and never reads
 * would keep every answer in memory. What else the caller sends meanwhile, a next request say, does not count.
 */
export function endUntaken(response: ServerResponse, ms: number): void {
  // Of several requests on one connection, the answer whose turn it is.
  response.once('prefinish', () => {
    const socket: WithHandle | null = response.socket;
    let left = socket?._handle?.writeQueueSize ?? 0;
    if (socket === null || left === 0) return;
    const timer = setInterval(() => {
      const now = socket._handle?.writeQueueSize ?? 0;
      // A reset: otherwise the system would go on offering what it holds of it.
      if (now > 0 && now === left) socket.resetAndDestroy();
      left = now;
    }, ms).unref();
    response.once('close', () => {
      clearInterval(timer);
    });
  });
}
