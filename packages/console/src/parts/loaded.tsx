/** The states of loaded data: loading, empty, failed, or stale while offline. */
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { byHand } from '../api/client.js';
import { Refusal, isOffline } from '../api/failure.js';
import { localClock } from '../format/time.js';
import { COMMON } from '../text/common.js';
import { Notice, wordsOf } from './notice.js';

/** The fields of a query that are displayed. Single and paged queries both have them. */
interface Read<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isError: boolean;
  readonly isFetching: boolean;
  readonly dataUpdatedAt: number;
  readonly refetch: () => Promise<unknown>;
}

interface LoadedProps<T> {
  readonly query: Read<T>;
  /** Number of placeholder lines while loading. */
  readonly lines?: number;
  readonly isEmpty?: (data: T) => boolean;
  /** Content for an empty list: one sentence, and one action that adds an item. */
  readonly empty?: ReactNode;
  readonly children: (data: T) => ReactNode;
}

export function Loaded<T>({ query, lines = 3, isEmpty, empty, children }: LoadedProps<T>) {
  const { data, error, isError, isFetching, dataUpdatedAt } = query;
  if (data === undefined) {
    return isError ? <Failed query={query} /> : <Waiting lines={lines} />;
  }
  return (
    <>
      {isError && (
        <Notice tone="warn">
          <p>
            {isOffline(error) ? COMMON.offline.title : wordsOf(error)},{' '}
            {COMMON.asOf(localClock(new Date(dataUpdatedAt)))}
          </p>
        </Notice>
      )}
      <div className={isError ? 'stale' : undefined} aria-busy={isFetching}>
        {isEmpty?.(data) === true ? <div className="empty">{empty}</div> : children(data)}
      </div>
    </>
  );
}

function Waiting({ lines }: { readonly lines: number }) {
  return (
    <div className="waiting" aria-busy="true">
      <span className="only-read">{COMMON.loading}</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="waiting-line" />
      ))}
    </div>
  );
}

function Failed<T>({ query: { error, refetch, isFetching } }: { readonly query: Read<T> }) {
  const isAway = isOffline(error);
  return (
    <Notice tone={isAway ? 'warn' : 'bad'} title={isAway ? COMMON.offline.title : COMMON.failure.title} isUrgent>
      <p>{isAway ? COMMON.offline.body : wordsOf(error)}</p>
      {error instanceof Refusal && error.requestId !== undefined && (
        <p className="dim mono">{`${COMMON.requestId} ${error.requestId}`}</p>
      )}
      <Button
        variant="default"
        loading={isFetching}
        onClick={() => {
          byHand();
          void refetch();
        }}
      >
        {COMMON.retry}
      </Button>
    </Notice>
  );
}
