/** Bounded concurrency, because nodes and connections are shared. */
import { reasonOf } from '../../domain/errors.js';

/** Runs `work` on every item, at most `atOnceMax` at a time. Rejects with the first failure. */
export async function forEachConcurrently<T>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined && !hasFailed; item = queue.shift()) {
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, worker));
}

/** Runs all works in their order, even if some fail. Then throws the error, or an AggregateError of several. */
export async function runEach(works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map((error) => reasonOf(error)).join('; '));
}

/**
 * Returns the errors behind what `runEach` threw, also through several calls: a caller that tolerates one must judge
 * each.
 */
export function failuresIn(thrown: unknown): readonly unknown[] {
  return thrown instanceof AggregateError ? thrown.errors.flatMap((error) => failuresIn(error)) : [thrown];
}
