/** Reachability of the console process, as the last request found it. */
import { useSyncExternalStore } from 'react';

let isReached = true;
const listeners = new Set<() => void>();

export function reached(now: boolean): void {
  if (now === isReached) return;
  isReached = now;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  const changed = () => {
    listener();
  };
  addEventListener('online', changed);
  addEventListener('offline', changed);
  return () => {
    listeners.delete(listener);
    removeEventListener('online', changed);
    removeEventListener('offline', changed);
  };
}

export function useIsOnline(): boolean {
  return useSyncExternalStore(subscribe, () => isReached && navigator.onLine);
}
