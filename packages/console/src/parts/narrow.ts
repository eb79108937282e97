/** Whether the page stands on a phone, as the styles have it too; it may be turned. */
import { useSyncExternalStore } from 'react';

const NARROW = matchMedia('(max-width: 767px)');

function subscribe(onTurn: () => void): () => void {
  NARROW.addEventListener('change', onTurn);
  return () => NARROW.removeEventListener('change', onTurn);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}
