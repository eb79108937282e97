/** Like `Loaded`, for a list that is read page by page. */
import { Button } from '@mantine/core';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Page } from '../../../../src/modules/console/data-shapes.js';
import { byHand } from '../api/client.js';
import { COMMON } from '../text/common.js';
import { Loaded } from './loaded.js';

interface LoadedPagesProps<Item> {
  readonly query: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  readonly empty: ReactNode;
  readonly children: (items: readonly Item[]) => ReactNode;
}

export function LoadedPages<Item>({ query, empty, children }: LoadedPagesProps<Item>) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  return (
    <Loaded
      query={query}
      lines={6}
      isEmpty={({ pages }) => !hasNextPage && pages.every(({ items }) => items.length === 0)}
      empty={empty}
    >
      {({ pages }) => (
        <>
          {children(pages.flatMap(({ items }) => items))}
          {hasNextPage && (
            <p className="more">
              <Button
                variant="default"
                loading={isFetchingNextPage}
                onClick={() => {
                  byHand();
                  void fetchNextPage();
                }}
              >
                {COMMON.more}
              </Button>
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}
