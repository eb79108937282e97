/** Queries for one project's data. Their keys share a prefix, so an arrival invalidates all of them. */
import { useInfiniteQuery, useQuery, type QueryKey } from '@tanstack/react-query';
import type { Page } from '../../../../src/modules/console/data-shapes.js';
import { useProject } from '../shell/project.js';
import { get, type Query } from './client.js';
import { useRepeats } from './repeats.js';

/** Polling interval in ms while the page is open. */
type Every<T> = number | false | ((data: T | undefined) => number | false);

interface ReadOptions<T> {
  readonly everyMs?: Every<T>;
  readonly isOn?: boolean;
}

export function useProjectData<T>(path: string, { everyMs = false, isOn = true }: ReadOptions<T> = {}) {
  const { id, api } = useProject();
  return useReadEvery<T>(['project', id, path], `${api}${path}`, everyMs, isOn);
}

/** Polls one resource. */
export function useReadEvery<T>(queryKey: QueryKey, path: string, everyMs: Every<T>, isOn = true) {
  const repeats = useRepeats();
  return useQuery<T>({
    queryKey,
    queryFn: ({ signal }) => repeats(queryKey, (isBackground) => get<T>(path, {}, { signal, isBackground })),
    refetchInterval: typeof everyMs === 'function' ? ({ state }) => everyMs(state.data) : everyMs,
    enabled: isOn,
  });
}

/** Reads one resource once, so that a document does not change while it is shown. Its key begins with no project. */
export function useReadOnce<T>(queryKey: QueryKey, path: string) {
  return useQuery<T>({
    queryKey,
    queryFn: ({ signal }) => get<T>(path, {}, { signal }),
    staleTime: Infinity,
    gcTime: 0,
  });
}

/** Reads a list page by page, newest first. */
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
