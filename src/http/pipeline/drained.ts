/** How long a caller takes nothing of an answer. */
import type { ServerResponse } from 'node:http';

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
