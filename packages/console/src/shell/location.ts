/**
 * The page's address as it is written. wouter decodes it before it is matched, and parts of a path and members of a query
 * are decoded after: a percent sign stands for itself once only if the first decoding leaves it encoded.
 */
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location';

const kept = (encoded: string): string => encoded.replaceAll('%25', '%2525');

export function useWrittenLocation(): ReturnType<typeof useBrowserLocation> {
  const [path, go] = useBrowserLocation();
  return [kept(path), go];
}

export const useWrittenSearch = (): string => kept(useSearch());

/** A part of a path; as it stands where it is typed by hand and no encoding. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
