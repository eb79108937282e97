/**
 * The page's URL without wouter's first decoding. wouter decodes the URL before it matches routes, and path segments
 * and query parameters are decoded again afterwards. So a percent sign must stay encoded after the first decoding.
 */
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location';

const kept = (encoded: string): string => encoded.replaceAll('%25', '%2525');

export function useWrittenLocation(): ReturnType<typeof useBrowserLocation> {
  const [path, go] = useBrowserLocation();
  return [kept(path), go];
}

export const useWrittenSearch = (): string => kept(useSearch());

/** Decodes a path segment. Returns it unchanged if it is no valid encoding, such as one typed by hand. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
