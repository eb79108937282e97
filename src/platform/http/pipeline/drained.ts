/** Handles callers that do not read their answers. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Resolves to true once all written data has left this process, or to false after `ms` or when `signal` aborts. */
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

/** The amount not yet passed to the system is visible in the socket's handle alone; Node's own timeouts use it too. */
type WithHandle = Socket & { readonly _handle?: { readonly writeQueueSize: number } | null };

/**
 * Ends the connection of `response` if the response is finished and the caller read none of it for `ms`. A caller that
 * never reads would keep every answer in memory. Other data that the caller sends meanwhile, such as a next request,
 * does not count.
 */
export function endUntaken(response: ServerResponse, ms: number): void {
  // With several requests on one connection, this fires for the answer whose turn it is.
  response.once('prefinish', () => {
    const socket: WithHandle | null = response.socket;
    let left = socket?._handle?.writeQueueSize ?? 0;
    if (socket === null || left === 0) return;
    const timer = setInterval(() => {
      const now = socket._handle?.writeQueueSize ?? 0;
      // Reset the connection; otherwise the system would keep offering its buffered data.
      if (now > 0 && now === left) socket.resetAndDestroy();
      left = now;
    }, ms).unref();
    response.once('close', () => {
      clearInterval(timer);
    });
  });
}
