/** What comes to a project while its page is open. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Arrivals } from '../../../../src/console/data-shapes.js';
import { get } from './client.js';

/** Between two reads: the chain makes a block in three seconds. */
const REST_MS = 2000;

interface Watch {
  /** False while the last read failed. */
  readonly isLive: boolean;
  readonly newest: Arrivals | undefined;
}

/** Reads anew what is kept of the project whenever something came. */
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
