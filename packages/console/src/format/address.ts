/** Addresses and transaction ids whole, in groups that an eye can compare. */
export function inGroups(text: string, size = 4): string[] {
  // A UUID, or what else has hyphens or underscores, has groups of its own.
  if (/[-_]/.test(text)) return [text];
  return text.match(new RegExp(`.{1,${size.toString()}}`, 'g')) ?? [];
}
