-- How often an idempotency key came again, and when last. Deleted with its test order.
CREATE TABLE order_replay (
  order_id bigint PRIMARY KEY,
  replays bigint NOT NULL CHECK (replays > 0),
  last_at timestamptz NOT NULL
);
