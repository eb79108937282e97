/** Reads of one project's data; their keys begin alike, so that an arrival reads all of them anew. */
import { useInfiniteQuery, useQuery, type QueryKey } from '@tanstack/react-query';
import type { Page } from '../../../../src/console/data-shapes.js';
import { useProject } from '../shell/project.js';
import { get, type Query } from './client.js';
import { useRepeats } from './repeats.js';

/** How often it is read again by itself, for as long as the page is open. */
type Every<T> = number | false | ((data: T | undefined) => number | false);

interface ReadOptions<T> {
  readonly everyMs?: Every<T>;
  readonly isOn?: boolean;
}

export function useProjectData<T>(path: string, { everyMs = false, isOn = true }: ReadOptions<T> = {}) {
  const { id, api } = useProject();
  return useReadEvery<T>(['project', id, path], `${api}${path}`, everyMs, isOn);
}

/** One answer that is read again by itself. */
export function useReadEvery<T>(queryKey: QueryKey, path: string, everyMs: Every<T>, isOn = true) {
  const repeats = useRepeats();
  return useQuery<T>({
    queryKey,
    queryFn: ({ signal }) => repeats(queryKey, (isBackground) => get<T>(path, {}, { signal, isBackground })),
    refetchInterval: typeof everyMs === 'function' ? ({ state }) => everyMs(state.data) : everyMs,
    enabled: isOn,
  });
}

/** A list page by page, from the newest. */
export function usePages<Item, Of extends Page<Item> = Page<Item>>(
  key: readonly string[],
  path: string,
  filter: Query = {},
) {
  const repeats = useRepeats();
  const queryKey = [...key, path, filter];
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const query = { ...filter, limit: 50, cursor: pageParam };
      return repeats(queryKey, (isBackground) => get<Of>(path, query, { signal, isBackground }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor,
  });
}
