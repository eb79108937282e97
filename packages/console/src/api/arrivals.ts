/** New events of a project while one of its pages is open. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Arrivals } from '../../../../src/modules/console/data-shapes.js';
import { get } from './client.js';

/** Pause between two polls. TRON makes a block every three seconds. */
const REST_MS = 2000;

interface Watch {
  /** False after a failed poll. */
  readonly isLive: boolean;
  readonly newest: Arrivals | undefined;
}

/** Polls for arrivals and invalidates the project's cached queries when something arrived. */
export function useArrivals(projectId: string): Watch {
  const cache = useQueryClient();
  const [isLive, setLive] = useState(true);
  const [newest, setNewest] = useState<Arrivals>();
  const position = useRef<number>(undefined);
  useEffect(() => {
    const ended = new AbortController();
    const isOver = () => ended.signal.aborted;
    const follow = async () => {
      while (!isOver()) {
        try {
          const answer = await get<Arrivals>(
            `/api/projects/${projectId}/arrivals`,
            { after: position.current },
            { signal: ended.signal, isBackground: true },
          );
          setLive(true);
          setNewest(answer);
          position.current = answer.position;
          if (answer.events.length > 0) await cache.invalidateQueries({ queryKey: ['project', projectId] });
        } catch {
          if (isOver()) return;
          setLive(false);
        }
        await new Promise((resolve) => setTimeout(resolve, REST_MS));
      }
    };
    void follow();
    return () => ended.abort();
  }, [projectId, cache]);
  return { isLive, newest };
}
