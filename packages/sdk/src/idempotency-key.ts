// Keys of purchases. A key that a header or the path of a URL cannot hold is refused before anything is sent: `fetch`
// would refuse it too, which would look like a lost answer.

const KEY = /^(?=.{1,255}$)[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/;
const RESERVED = /^(?:ext|nonce|auto)_/;

/** Returns the key. Throws TypeError for one that the service would refuse, and for any other type than a text. */
export function requireKey(key: unknown): string {
  if (typeof key !== 'string') throw new TypeError('idempotencyKey must be a string; omit it to have one generated');
  if (!KEY.test(key) || RESERVED.test(key)) {
    throw new TypeError(
      'idempotencyKey must be 1 to 255 printable ASCII characters, with spaces only between others, and must not begin with ext_, nonce_ or auto_',
    );
  }
  return requireOrderKey(key);
}

/** Returns the key of an order. Throws TypeError for one that cannot be a segment of a URL path. */
export function requireOrderKey(key: string): string {
  if (key === '.' || key === '..') throw new TypeError('no order can have this key');
  return key;
}
