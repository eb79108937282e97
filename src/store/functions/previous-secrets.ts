/**
 * What is rotated is kept as the one before, for as long as it is said to verify or sign: by a trigger, so that whoever
 * rotates needs no right to read what is sealed.
 */
const KEEP_PREVIOUS_KEY_SQL = `
CREATE OR REPLACE FUNCTION keep_previous_key() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.sealed END;
     RETURN NEW;
   END $$`;

const KEEP_PREVIOUS_SECRET_SQL = `
CREATE OR REPLACE FUNCTION keep_previous_secret() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     NEW.previous_secret_sealed := CASE WHEN NEW.previous_until IS NOT NULL THEN OLD.secret_sealed END;
     RETURN NEW;
   END $$`;

export const PREVIOUS_SECRETS: Readonly<Record<string, string>> = {
  keep_previous_key: KEEP_PREVIOUS_KEY_SQL,
  keep_previous_secret: KEEP_PREVIOUS_SECRET_SQL,
};
