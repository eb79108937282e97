/** Node URLs as providers issue them: with a path, a query such as `?token=…`, or a user and a password. */

/** Returns the URL of a path below a node's URL. Keeps the node's query, removes its user and password. */
export function urlAt(base: string, path: string): string {
  const url = new URL(base);
  url.username = '';
  url.password = '';
  url.hash = '';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path}`;
  return url.href;
}

/** Returns the Basic authorization of a URL with a user or a password; nothing for one without. */
export function authorizationOf(base: string): { readonly authorization?: string } {
  const { username, password } = new URL(base);
  if (username === '' && password === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}` };
}
