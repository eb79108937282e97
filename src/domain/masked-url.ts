/**
 * Returns a webhook's URL without path and query, which contain the token of many receivers: `https://hooks.example/…`.
 * Used in events, in the audit log and for outside readers. Only the webhook's page and API answer show the rest.
 */
export function maskedUrl(url: string): string {
  return url.replace(/^([^/]+:\/\/[^/?#]+)[/?#].+$/s, '$1/…');
}
