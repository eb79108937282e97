<?php
// Signed requests with PHP 8; no extensions.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   php energy.php quote T… [ENERGY] [DURATION_SEC]
//   php energy.php order QUOTE_REF IDEMPOTENCY_KEY
//   php energy.php get IDEMPOTENCY_KEY
//   php energy.php balance
//   php energy.php call METHOD PATH [BODY] [IDEMPOTENCY_KEY]      any request; BODY as JSON
//
// Signed by HMAC; SIGNATURES=md5 signs like early clients.
declare(strict_types=1);

const ATTEMPTS_MAX = 3;
const SIGN_AGAIN = ['SIGNATURE_TIMESTAMP_OUT_OF_RANGE', 'SIGNATURE_REPLAYED'];

/** Returns JSON with sorted keys at every depth and no spaces, to sign and send. Arrays are lists, also empty ones. */
function canonical(object $body): string
{
    return json_encode(sorted($body), JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
}

function sorted(mixed $value): mixed
{
    if (is_array($value)) {
        return array_map('sorted', $value);
    }
    if (!is_object($value)) {
        return $value;
    }
    $members = array_map('sorted', (array) $value);
    ksort($members, SORT_STRING);
    return (object) $members;
}

/** Returns the signature headers of one attempt: HMAC over nine lines, with a new nonce for each attempt. */
function sign(string $method, string $path, string $text, string $key, int $offset): array
{
    $apiKey = (string) getenv('API_KEY');
    if (getenv('SIGNATURES') === 'md5') {
        // Covers the body only; a GET signs the empty string.
        return ['Signature: ' . md5(base64_encode($text) . $apiKey)];
    }
    $timestamp = (string) (time() + $offset);
    $nonce = bin2hex(random_bytes(16));
    [$route, $query] = explode('?', $path, 2) + [1 => ''];
    $lines = [$timestamp, $nonce, $method, rawurldecode($route), $query, getenv('MERCHANT'), $key, hash('sha256', $text)];
    $signature = hash_hmac('sha256', "CC-HMAC-SHA256-REQ-V1\n" . implode("\n", $lines), $apiKey);
    return ["X-CC-Timestamp: $timestamp", "X-CC-Nonce: $nonce", "X-CC-Signature: v1=$signature"];
}

/**
 * Sends one request. Repeats it after a lost answer, a 429 or a 503, which an Idempotency-Key makes safe.
 * SIGNATURE_REPLAYED means that a copy, made by a proxy for example, arrived first: it is signed again.
 */
function call(string $method, string $path, ?object $body = null, string $key = ''): array
{
    $text = $body === null ? '' : canonical($body);
    $headers = ['Merchant: ' . getenv('MERCHANT')];
    // Lead of the service's clock over ours in seconds, once the service has reported its time.
    $offset = 0;
    if ($body !== null) {
        $headers[] = 'Content-Type: application/json';
    }
    if ($key !== '') {
        $headers[] = "Idempotency-Key: $key";
    }
    $options = ['method' => $method, 'timeout' => 60, 'ignore_errors' => true, 'follow_location' => 0];
    if ($body !== null) {
        $options['content'] = $text;
    }
    for ($attempt = 1; ; $attempt++) {
        $options['header'] = [...$headers, ...sign($method, $path, $text, $key, $offset)];
        $pause = $attempt;
        $status = 0;
        $answer = false;
        $length = null;
        $stream = @fopen(getenv('BASE_URL') . $path, 'r', false, stream_context_create(['http' => $options]));
        if ($stream !== false) {
            $answer = stream_get_contents($stream);
            $meta = stream_get_meta_data($stream);
            fclose($stream);
            foreach ($meta['wrapper_data'] as $line) {
                if (preg_match('/^http\/\S+ (\d+)/i', $line, $match) === 1) {
                    $status = (int) $match[1];
                }
                if (preg_match('/^retry-after:\s*(\d+)/i', $line, $match) === 1) {
                    $pause = (int) $match[1];
                }
                if (preg_match('/^content-length:\s*(\d+)/i', $line, $match) === 1) {
                    $length = (int) $match[1];
                }
            }
            // PHP treats an answer that was cut off as complete.
            if ($meta['timed_out'] || ($length !== null && strlen((string) $answer) !== $length)) {
                $answer = false;
            }
        }
        $isRepeatable = $answer === false || $status === 429 || $status === 503;
        if (!$isRepeatable || $attempt === ATTEMPTS_MAX) {
            if ($answer === false) {
                fwrite(STDERR, "There was no answer; repeat with the same key.\n");
                exit(1);
            }
            $said = json_decode($answer, true);
            $error = $said['error'] ?? '';
            if (!in_array($error, SIGN_AGAIN, true) || $attempt === ATTEMPTS_MAX) {
                return [$status, $answer];
            }
            if ($error === 'SIGNATURE_TIMESTAMP_OUT_OF_RANGE') {
                $offset = $said['server_time'] - time();
                continue;
            }
        }
        sleep($pause);
    }
}

/** Returns the whole number in an argument. A cast would read "90 000" as 90. */
function whole(string $name, string $text): int
{
    if (preg_match('/^\d{1,15}$/D', $text) !== 1) {
        fwrite(STDERR, "$name is no whole number: $text\n");
        exit(2);
    }
    return (int) $text;
}

function quote(string $receiver, string $energy = '0', ?string $duration = null): array
{
    $body = ['receive_address' => $receiver];
    $named = whole('ENERGY', $energy);
    if ($named > 0) {
        $body['energy'] = $named;
    }
    if ($duration !== null) {
        $body['duration_sec'] = whole('DURATION_SEC', $duration);
    }
    return call('POST', '/v1/quotes', (object) $body);
}

$arguments = array_slice($argv, 2);
$wanted = ['quote' => 1, 'order' => 2, 'get' => 1, 'balance' => 0, 'call' => 2][$argv[1] ?? ''] ?? null;
if ($wanted === null || count($arguments) < $wanted) {
    fwrite(STDERR, "Name one of: quote RECEIVER, order QUOTE_REF KEY, get KEY, balance, call METHOD PATH [BODY] [KEY].\n");
    exit(2);
}
[$status, $answer] = match ($argv[1]) {
    'quote' => quote(...$arguments),
    'order' => call('POST', '/v1/orders', (object) ['quote_ref' => $arguments[0]], $arguments[1]),
    'get' => call('GET', '/v1/orders/' . rawurlencode($arguments[0])),
    'balance' => call('GET', '/v1/balance'),
    'call' => call(
        $arguments[0],
        $arguments[1],
        isset($arguments[2]) ? json_decode($arguments[2], flags: JSON_THROW_ON_ERROR) : null,
        $arguments[3] ?? '',
    ),
};
echo $answer, "\n";
exit($status < 300 ? 0 : 1);
