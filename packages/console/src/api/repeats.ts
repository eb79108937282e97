/** What of a page's requests is use of the console, and what the page asks for by itself: repeats of what it has already. */
import { hashKey, type QueryKey } from '@tanstack/react-query';
import { useCallback, useRef } from 'react';
import { Refusal } from './failure.js';

type Read<T> = (isBackground: boolean) => Promise<T>;

/**
 * For the `queryFn` of a page. The first read of a key since the page was opened is use, whatever an earlier page has left;
 * once it was answered, reads by time or for an event are background.
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
