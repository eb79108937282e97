<?php
// A receiver of webhooks with PHP 8; no extensions. A page of your web server, or by itself:
//
//   export WEBHOOK_SECRET=whsec_…
//   INBOX=./inbox php -S 127.0.0.1:4000 receive.php
//
// Each event becomes one file in INBOX, even if it arrives repeatedly, and is answered with 204 once it is stored.
// Another program of yours processes the files. With a database, use a row with the id as unique key.
declare(strict_types=1);

const TOLERANCE_SEC = 300;
const BODY_BYTES_MAX = 100_000;

/** Returns true if the service sent the request: signed with our secret over these bytes within five minutes. */
function isVerified(string $id, string $timestamp, string $signatures, string $body): bool
{
    $secret = (string) getenv('WEBHOOK_SECRET');
    if (!str_starts_with($secret, 'whsec_')) {
        return false;
    }
    if (preg_match('/^[A-Za-z0-9_-]{1,64}\z/', $id) !== 1 || preg_match('/^[0-9]{1,12}\z/', $timestamp) !== 1) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SEC) {
        return false;
    }
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $wanted = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
    // While the secret is rotated, the header has one signature for each secret.
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($wanted, $given)) {
            return true;
        }
    }
    return false;
}

/** Stores the event under its id; false if it exists. The file is written completely before it gets its name. */
function keep(string $id, string $body): bool
{
    $inbox = getenv('INBOX') ?: './inbox';
    if (!is_dir($inbox)) {
        @mkdir($inbox, 0777, true);
    }
    $draft = $inbox . '/.' . bin2hex(random_bytes(16));
    try {
        if (file_put_contents($draft, $body) !== strlen($body)) {
            throw new RuntimeException('the event could not be kept');
        }
        if (@link($draft, "$inbox/$id.json")) {
            return true;
        }
        if (!file_exists("$inbox/$id.json")) {
            throw new RuntimeException('the event could not be kept');
        }
        return false;
    } finally {
        @unlink($draft);
    }
}

$body = (string) file_get_contents('php://input', false, null, 0, BODY_BYTES_MAX + 1);
$id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
if (strlen($body) > BODY_BYTES_MAX) {
    http_response_code(413);
} elseif (
    $_SERVER['REQUEST_METHOD'] !== 'POST'
    || !isVerified($id, $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)
) {
    http_response_code(400);
} else {
    try {
        error_log((keep($id, $body) ? json_decode($body, true)['type'] : 'again') . " $id");
        http_response_code(204);
    } catch (RuntimeException $failure) {
        // Not stored: the service will send it again.
        error_log($failure->getMessage());
        http_response_code(500);
    }
}
