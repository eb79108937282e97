-- Applies stopping and resuming sales to every wallet in the same transaction.
CREATE OR REPLACE FUNCTION sales_stop_reaches_wallets() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE pool_wallet SET status = status;
     RETURN NULL;
   END $$;

REVOKE EXECUTE ON FUNCTION sales_stop_reaches_wallets FROM PUBLIC;
