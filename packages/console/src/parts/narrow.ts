/** Detects a phone-sized screen by the breakpoint of the styles. Rotating the phone may change the result. */
import { useSyncExternalStore } from 'react';

const NARROW = matchMedia('(max-width: 767px)');

function subscribe(onTurn: () => void): () => void {
  NARROW.addEventListener('change', onTurn);
  return () => NARROW.removeEventListener('change', onTurn);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}
