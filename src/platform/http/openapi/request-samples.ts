/** Programs that send one signed request, in five languages without packages (docs/signing.md). Pure. */

export interface SampleRequest {
  readonly method: string;
  readonly path: string;
  /** The body's bytes; undefined for none. */
  readonly body: string | undefined;
  /** The Idempotency-Key; undefined where the route has none. */
  readonly key: string | undefined;
}

export interface RequestSample {
  readonly language: string;
  readonly code: string;
}

/**
 * Each program reads BASE_URL, MERCHANT and API_KEY from its environment and prints the answer. Paths must not need
 * escapes.
 */
export function samplesOf(request: SampleRequest): readonly RequestSample[] {
  return [
    { language: 'curl', code: curl(request) },
    { language: 'Node.js', code: node(request) },
    { language: 'Python', code: python(request) },
    { language: 'PHP', code: php(request) },
    { language: 'Go', code: go(request) },
  ];
}

const VERSION = 'CC-HMAC-SHA256-REQ-V1';
const lines = (...all: readonly (string | undefined)[]): string => all.filter((line) => line !== undefined).join('\n');
/** Single quotes in a shell, and in PHP. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const phpQuoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
/** JSON's string form, which JavaScript, Python and Go share. */
const quoted = (text: string): string => JSON.stringify(text);

function curl({ method, path, body, key }: SampleRequest): string {
  return lines(
    body === undefined ? "body=''" : `body=${shellQuoted(body)}`,
    'time=$(date +%s)',
    'nonce=$(openssl rand -hex 16)',
    `hash=$(printf '%s' "$body" | openssl dgst -sha256 -r | cut -d' ' -f1)`,
    `message=$(printf '%s\\n' ${VERSION} "$time" "$nonce" ${method} ${path} '' "$MERCHANT" '${key ?? ''}' "$hash")`,
    `signature=$(printf '%s' "$message" | openssl dgst -sha256 -hmac "$API_KEY" -r | cut -d' ' -f1)`,
    `curl -X ${method} "$BASE_URL${path}" \\`,
    `  -H "Merchant: $MERCHANT" -H "X-CC-Timestamp: $time" \\`,
    key === undefined ? undefined : `  -H 'Idempotency-Key: ${key}' \\`,
    body === undefined ? undefined : `  -H 'Content-Type: application/json' -d "$body" \\`,
    '  -H "X-CC-Nonce: $nonce" -H "X-CC-Signature: v1=$signature"',
  );
}

function node({ method, path, body, key }: SampleRequest): string {
  return lines(
    `import { createHash, createHmac, randomUUID } from 'node:crypto';`,
    '',
    'const { BASE_URL, MERCHANT, API_KEY } = process.env;',
    `const body = ${body === undefined ? "''" : `JSON.stringify(${body})`};`,
    'const time = Math.floor(Date.now() / 1000).toString();',
    'const nonce = randomUUID();',
    `const hash = createHash('sha256').update(body).digest('hex');`,
    `const message = ['${VERSION}', time, nonce, '${method}', '${path}', '', MERCHANT, '${key ?? ''}', hash].join('\\n');`,
    `const signature = createHmac('sha256', API_KEY).update(message).digest('hex');`,
    `const answer = await fetch(BASE_URL + '${path}', {`,
    `  method: '${method}',`,
    '  headers: {',
    '    Merchant: MERCHANT,',
    `    'X-CC-Timestamp': time,`,
    `    'X-CC-Nonce': nonce,`,
    `    'X-CC-Signature': \`v1=\${signature}\`,`,
    key === undefined ? undefined : `    'Idempotency-Key': '${key}',`,
    body === undefined ? undefined : `    'Content-Type': 'application/json',`,
    '  },',
    body === undefined ? undefined : '  body,',
    '});',
    'console.log(answer.status, await answer.text());',
  );
}

function python({ method, path, body, key }: SampleRequest): string {
  return lines(
    'import hashlib, hmac, os, secrets, time, urllib.error, urllib.request',
    '',
    'base_url, merchant, api_key = (os.environ[name] for name in ("BASE_URL", "MERCHANT", "API_KEY"))',
    `body = ${quoted(body ?? '')}.encode()`,
    'now, nonce = str(int(time.time())), secrets.token_hex(16)',
    `message = "\\n".join(["${VERSION}", now, nonce, "${method}", "${path}", "", merchant, "${key ?? ''}",`,
    '                     hashlib.sha256(body).hexdigest()])',
    'signature = hmac.new(api_key.encode(), message.encode(), hashlib.sha256).hexdigest()',
    'headers = {',
    '    "Merchant": merchant,',
    '    "X-CC-Timestamp": now,',
    '    "X-CC-Nonce": nonce,',
    '    "X-CC-Signature": "v1=" + signature,',
    key === undefined ? undefined : `    "Idempotency-Key": "${key}",`,
    body === undefined ? undefined : '    "Content-Type": "application/json",',
    '}',
    `request = urllib.request.Request(base_url + "${path}", body or None, headers, method="${method}")`,
    'try:',
    '    answer = urllib.request.urlopen(request, timeout=60)',
    'except urllib.error.HTTPError as refused:',
    '    answer = refused',
    'print(answer.code, answer.read().decode())',
  );
}

function php({ method, path, body, key }: SampleRequest): string {
  return lines(
    '<?php',
    `[$baseUrl, $merchant, $apiKey] = [getenv('BASE_URL'), getenv('MERCHANT'), getenv('API_KEY')];`,
    `$body = ${phpQuoted(body ?? '')};`,
    '[$time, $nonce] = [(string) time(), bin2hex(random_bytes(16))];',
    `$message = implode("\\n", ['${VERSION}', $time, $nonce, '${method}', '${path}', '', $merchant, '${key ?? ''}', hash('sha256', $body)]);`,
    `$signature = hash_hmac('sha256', $message, $apiKey);`,
    '$headers = [',
    '    "Merchant: $merchant",',
    '    "X-CC-Timestamp: $time",',
    '    "X-CC-Nonce: $nonce",',
    '    "X-CC-Signature: v1=$signature",',
    key === undefined ? undefined : `    'Idempotency-Key: ${key}',`,
    body === undefined ? undefined : `    'Content-Type: application/json',`,
    '];',
    `$options = ['method' => '${method}', 'header' => $headers, 'content' => $body, 'ignore_errors' => true, 'timeout' => 60];`,
    `echo file_get_contents("$baseUrl${path}", false, stream_context_create(['http' => $options])), "\\n";`,
    'echo $http_response_header[0], "\\n";',
  );
}

function go({ method, path, body, key }: SampleRequest): string {
  return lines(
    'package main',
    '',
    'import (',
    ...[
      'crypto/hmac',
      'crypto/rand',
      'crypto/sha256',
      'encoding/hex',
      'fmt',
      'io',
      'net/http',
      'os',
      'strings',
      'time',
    ].map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    '\tbaseURL, merchant, apiKey := os.Getenv("BASE_URL"), os.Getenv("MERCHANT"), os.Getenv("API_KEY")',
    `\tbody := ${quoted(body ?? '')}`,
    '\trandom := make([]byte, 16)',
    '\tif _, err := rand.Read(random); err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tnow, nonce := fmt.Sprint(time.Now().Unix()), hex.EncodeToString(random)',
    '\thash := sha256.Sum256([]byte(body))',
    `\tmessage := strings.Join([]string{"${VERSION}", now, nonce, "${method}", "${path}", "", merchant, "${key ?? ''}",`,
    '\t\thex.EncodeToString(hash[:])}, "\\n")',
    '\tmac := hmac.New(sha256.New, []byte(apiKey))',
    '\tmac.Write([]byte(message))',
    `\trequest, err := http.NewRequest("${method}", baseURL+"${path}", strings.NewReader(body))`,
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\trequest.Header.Set("Merchant", merchant)',
    '\trequest.Header.Set("X-CC-Timestamp", now)',
    '\trequest.Header.Set("X-CC-Nonce", nonce)',
    '\trequest.Header.Set("X-CC-Signature", "v1="+hex.EncodeToString(mac.Sum(nil)))',
    key === undefined ? undefined : `\trequest.Header.Set("Idempotency-Key", "${key}")`,
    body === undefined ? undefined : '\trequest.Header.Set("Content-Type", "application/json")',
    '\tanswer, err := http.DefaultClient.Do(request)',
    '\tif err != nil {',
    '\t\tpanic(err)',
    '\t}',
    '\tdefer answer.Body.Close()',
    '\ttext, err := io.ReadAll(answer.Body)',
    '\tfmt.Println(answer.StatusCode, string(text), err)',
    '}',
  );
}
