/**
 * A webhook's URL without its path and query, which hold the token of many receivers: `https://hooks.example/…`.
 * For events, the audit log and whoever looks in from outside; only the webhook's own page and API answer show the rest.
 */
export function maskedUrl(url: string): string {
  return url.replace(/^([^/]+:\/\/[^/?#]+)[/?#].+$/s, '$1/…');
}
