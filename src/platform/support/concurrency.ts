/** Bounded concurrency, because nodes and connections are shared. */

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

/** Runs all works in their order, even if one fails. Then throws the first error. */
export async function runEach(works: readonly (() => Promise<unknown>)[]): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  for (const work of works) {
    try {
      await work();
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}
