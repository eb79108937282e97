-- The number of repetitions of an idempotency key, and the time of the last one. Deleted with its test order.
CREATE TABLE order_replay (
  order_id bigint PRIMARY KEY,
  replays bigint NOT NULL CHECK (replays > 0),
  last_at timestamptz NOT NULL
);
