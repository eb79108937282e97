/** Splits an address or transaction id into groups that are easy to compare by eye. Nothing is shortened. */
export function inGroups(text: string, size = 4): string[] {
  // A UUID, or any text with hyphens or underscores, is already grouped.
  if (/[-_]/.test(text)) return [text];
  return text.match(new RegExp(`.{1,${size.toString()}}`, 'g')) ?? [];
}
