/** Reads of one project's data; their keys begin alike, so that an arrival reads all of them anew. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Page } from '../../../../src/console/data-shapes.js';
import { useProject } from '../shell/project.js';
import { get, type Query } from './client.js';

interface ReadOptions {
  /** Read again by itself, for as long as the page is open. */
  readonly everyMs?: number;
  readonly isOn?: boolean;
}

export function useProjectData<T>(path: string, options: ReadOptions = {}) {
  const { id, api } = useProject();
  const { everyMs = false, isOn = true } = options;
  return useQuery({
    queryKey: ['project', id, path],
    queryFn: ({ signal }) => get<T>(`${api}${path}`, {}, { signal }),
    refetchInterval: everyMs,
    enabled: isOn,
  });
}

/** A list page by page, from the newest. */
export function usePages<Item>(key: readonly string[], path: string, filter: Query = {}) {
  return useInfiniteQuery({
    queryKey: [...key, path, filter],
    queryFn: ({ pageParam, signal }) => get<Page<Item>>(path, { ...filter, limit: 50, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor,
  });
}
