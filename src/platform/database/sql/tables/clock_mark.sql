-- The latest time that the database's clock has shown, so that any worker notices a clock that was set back.
CREATE TABLE clock_mark (
  id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When workers last followed the clock, and when it last jumped. Nothing is deleted, disabled or closed by an
  -- unconfirmed clock.
  followed_at timestamptz,
  jumped_at timestamptz,
  -- The jump after which the spending of the day was counted again.
  counted_jump timestamptz
);

INSERT INTO clock_mark DEFAULT VALUES;
