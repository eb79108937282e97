/** Groups items by `keyOf`, keeping their order. `Map.groupBy` needs Node 21. */
export function groupBy<K, V>(items: readonly V[], keyOf: (item: V) => K): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
