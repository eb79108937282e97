<?php
// Signed requests with PHP 8 and its curl extension.
//
//   export BASE_URL=http://127.0.0.1:3000 MERCHANT=<Merchant ID> API_KEY=<API key>
//   php energy.php quote T… [ENERGY] [DURATION_SEC]
//   php energy.php order QUOTE_REF IDEMPOTENCY_KEY
//   php energy.php get IDEMPOTENCY_KEY
//   php energy.php balance
declare(strict_types=1);

const ATTEMPTS_MAX = 3;

/** Keys sorted, no spaces: what is signed, and sent exactly so. The interface's bodies are flat. */
function canonical(array $body): string
{
    ksort($body, SORT_STRING);
    return json_encode($body, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
}

/** hex(md5(base64(body) + api_key)); a GET signs the empty string. */
function sign(string $text): string
{
    return md5(base64_encode($text) . getenv('API_KEY'));
}

/** Sends one request; after a lost answer, a 429 or a 503 it is repeated, which an Idempotency-Key makes safe. */
function call(string $method, string $path, ?array $body = null, array $headers = []): array
{
    $text = $body === null ? '' : canonical($body);
    $headers[] = 'Merchant: ' . getenv('MERCHANT');
    $headers[] = 'Signature: ' . sign($text);
    if ($body !== null) {
        $headers[] = 'Content-Type: application/json';
    }
    for ($attempt = 1; ; $attempt++) {
        $pause = $attempt;
        $request = curl_init(getenv('BASE_URL') . $path);
        curl_setopt_array($request, [
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_TIMEOUT => 60,
            CURLOPT_HEADERFUNCTION => function ($_, string $line) use (&$pause): int {
                if (preg_match('/^retry-after:\s*(\d+)/i', $line, $match) === 1) {
                    $pause = (int) $match[1];
                }
                return strlen($line);
            },
        ]);
        if ($body !== null) {
            curl_setopt($request, CURLOPT_POSTFIELDS, $text);
        }
        $answer = curl_exec($request);
        $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
        $isRepeatable = $answer === false || $status === 429 || $status === 503;
        if (!$isRepeatable || $attempt === ATTEMPTS_MAX) {
            if ($answer === false) {
                throw new RuntimeException(curl_error($request));
            }
            return [$status, $answer];
        }
        sleep($pause);
    }
}

function quote(string $receiver, string $energy = '0', ?string $duration = null): array
{
    $body = ['receive_address' => $receiver];
    if ((int) $energy > 0) {
        $body['energy'] = (int) $energy;
    }
    if ($duration !== null) {
        $body['duration_sec'] = (int) $duration;
    }
    return call('POST', '/v1/quotes', $body);
}

$arguments = array_slice($argv, 2);
[$status, $answer] = match ($argv[1] ?? '') {
    'quote' => quote(...$arguments),
    'order' => call('POST', '/v1/orders', ['quote_ref' => $arguments[0]], ['Idempotency-Key: ' . $arguments[1]]),
    'get' => call('GET', '/v1/orders/' . rawurlencode($arguments[0])),
    'balance' => call('GET', '/v1/balance'),
    default => [2, "Name one of: quote, order, get, balance."],
};
fwrite($status === 2 ? STDERR : STDOUT, $answer . "\n");
exit($status === 2 ? 2 : ($status < 300 ? 0 : 1));
