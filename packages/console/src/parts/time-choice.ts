/** The user's choice of the times that pages show. The browser remembers it. */
import { useSyncExternalStore } from 'react';

export const TIME_CHOICES = ['both', 'local', 'utc'] as const;
export type TimeChoice = (typeof TIME_CHOICES)[number];

const REMEMBERED = 'console.times';
const listeners = new Set<() => void>();

function chosen(): TimeChoice {
  const kept = localStorage.getItem(REMEMBERED);
  return TIME_CHOICES.find((choice) => choice === kept) ?? 'both';
}

export function chooseTimes(choice: TimeChoice): void {
  localStorage.setItem(REMEMBERED, choice);
  for (const changed of listeners) changed();
}

/** Listens to other tabs too. */
function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  addEventListener('storage', changed);
  return () => {
    listeners.delete(changed);
    removeEventListener('storage', changed);
  };
}

export function useTimeChoice(): TimeChoice {
  return useSyncExternalStore(subscribe, chosen);
}
