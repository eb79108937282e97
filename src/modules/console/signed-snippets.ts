/**
 * Generates code of requests to the signed API. The key comes from the program's environment and never appears here.
 * Pure.
 */

export interface SignedRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** True for purchases, which need an Idempotency-Key. */
  readonly isOrder: boolean;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Quotes a text as one shell word: an order's key may contain shell syntax. */
const word = (text: string): string => (/^[\w./:%~-]+$/.test(text) ? text : quoted(text));

/** Signs by HMAC (docs/signing.md). */
export function curlOfRequest({ path, body, isOrder }: SignedRequest): string {
  const key = isOrder ? 'key=$(openssl rand -hex 16)' : 'key=';
  const header = isOrder ? ' -H "Idempotency-Key: $key"' : '';
  return [
    '# export BASE_URL=… MERCHANT=… API_KEY=…',
    `body=${quoted(JSON.stringify(body))} ${key}`,
    `time=$(date +%s) nonce=$(openssl rand -hex 16) hash=$(printf '%s' "$body" | openssl dgst -sha256 -r | cut -d' ' -f1)`,
    `message=$(printf '%s\\n' CC-HMAC-SHA256-REQ-V1 "$time" "$nonce" POST ${word(path)} '' "$MERCHANT" "$key" "$hash")`,
    `signature=$(printf '%s' "$message" | openssl dgst -sha256 -hmac "$API_KEY" -r | cut -d' ' -f1)`,
    `curl ${word(path) === path ? `"$BASE_URL${path}"` : `"$BASE_URL"${word(path)}`} -H "Merchant: $MERCHANT"${header} -H "X-CC-Timestamp: $time" \\`,
    `  -H "X-CC-Nonce: $nonce" -H "X-CC-Signature: v1=$signature" -H 'Content-Type: application/json' -d "$body"`,
  ].join('\n');
}

/** `call` is a method of the SDK's client; `of` is its first argument, if any. */
export function nodeOfRequest(
  call: string,
  body: Readonly<Record<string, unknown>>,
  shown: readonly string[],
  of?: string,
): string {
  const first = of === undefined ? '' : `${JSON.stringify(of)}, `;
  return [
    `import { EnergyClient } from '@tron-energy-rental/sdk';`,
    '',
    'const { BASE_URL, MERCHANT, API_KEY } = process.env;',
    'const client = new EnergyClient({ baseUrl: BASE_URL, merchant: MERCHANT, apiKey: API_KEY });',
    `const answer = await client.${call}(${first}${JSON.stringify(body, null, 2)});`,
    `console.log(${shown.map((name) => `answer.${name}`).join(', ')});`,
  ].join('\n');
}
