/** Separates user activity from background reads, which only refresh data that the page already has. */
import { hashKey, type QueryKey } from '@tanstack/react-query';
import { useCallback, useRef } from 'react';
import { Refusal } from './failure.js';

type Read<T> = (isBackground: boolean) => Promise<T>;

/**
 * Returns a wrapper for a page's `queryFn`. The first read of a key since the page opened counts as activity, even if
 * an earlier page left cached data. After one answer, reads by timer or event count as background.
 */
export function useRepeats(): <T>(key: QueryKey, read: Read<T>) => Promise<T> {
  const answered = useRef<string>(undefined);
  return useCallback(async <T>(key: QueryKey, read: Read<T>): Promise<T> => {
    const hash = hashKey(key);
    try {
      const answer = await read(answered.current === hash);
      answered.current = hash;
      return answer;
    } catch (failure) {
      if (failure instanceof Refusal) answered.current = hash;
      throw failure;
    }
  }, []);
}
