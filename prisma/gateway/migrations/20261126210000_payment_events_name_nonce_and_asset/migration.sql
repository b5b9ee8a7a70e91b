-- A payment as GET /payments/:wallet shows it: the `data` of its events.
CREATE OR REPLACE FUNCTION "payment_json"("one" "payments") RETURNS JSON LANGUAGE SQL STABLE AS $$
  SELECT json_build_object(
    'id', ("one").id,
    'pricing_plan_id', ("one").pricing_plan_id,
    'network', ("one").network,
    'chain_id', ("one").chain_id,
    'asset', ("one").asset,
    'amount', ("one").amount::text,
    'payer', ("one").payer,
    'pay_to', ("one").pay_to,
    'credits', ("one").credits,
    'status', ("one").status,
    'transaction', ("one").transaction,
    'block_number', ("one").block_number,
    'created_at', iso_time(("one").created_at),
    'settled_at', iso_time(("one").settled_at),
    'reversed_at', iso_time(("one").reversed_at),
    'nonce', split_part(("one").nonce, ' of ', 1),
    'decimals', plan.decimals,
    'display_denom', plan.display_denom
  )
  FROM (SELECT) AS once LEFT JOIN pricing_plans AS plan
    ON plan.id = ("one").pricing_plan_id AND plan.asset_address = ("one").asset
$$;
